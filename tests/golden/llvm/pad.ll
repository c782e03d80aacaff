declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32 immarg, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32 immarg, <8 x i1>)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 0, ptr %.3, align 8
  ret i64 0
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.4)
  %.5 = getelementptr inbounds i64, ptr %run, i64 1
  %.6 = load i64, ptr %.5, align 8
  ret i64 %.6
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.79, %join.47 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 14, %.7
  %.9 = select i1 %.8, i64 14, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 8
  %.12 = mul i64 %.11, 8
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.44, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = add i64 %.17, -2
  %.20 = add i64 %.17, -2
  %.21 = sub i64 0, %.20
  %.22 = icmp slt i64 8, %.21
  %.23 = select i1 %.22, i64 8, i64 %.21
  %.24 = icmp sgt i64 0, %.23
  %.25 = select i1 %.24, i64 0, i64 %.23
  %.26 = trunc i64 %.25 to i32
  %.27 = sub i64 10, %.20
  %.28 = icmp slt i64 8, %.27
  %.29 = select i1 %.28, i64 8, i64 %.27
  %.30 = icmp sgt i64 0, %.29
  %.31 = select i1 %.30, i64 0, i64 %.29
  %.32 = trunc i64 %.31 to i32
  %.33 = insertelement <8 x i32> poison, i32 %.26, i32 0
  %.34 = shufflevector <8 x i32> %.33, <8 x i32> poison, <8 x i32> zeroinitializer
  %.35 = icmp sge <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.34
  %.36 = insertelement <8 x i32> poison, i32 %.32, i32 0
  %.37 = shufflevector <8 x i32> %.36, <8 x i32> poison, <8 x i32> zeroinitializer
  %.38 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.37
  %.39 = and <8 x i1> %.35, %.38
  %.40 = getelementptr inbounds float, ptr %p0, i64 %.19
  %.41 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.40, i32 4, <8 x i1> %.39, <8 x float> splat (float 0x0000000000000000))
  %.42 = select <8 x i1> %.39, <8 x float> %.41, <8 x float> splat (float 0x0000000000000000)
  %.43 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <8 x float> %.42, ptr %.43, align 4
  %.44 = add nsw i64 %.17, 8
  br label %loop.14
done.16:
  %.45 = icmp slt i64 %.13, %.9
  br i1 %.45, label %then.46, label %join.47
then.46:
  %.48 = sub i64 %.9, %.13
  %.49 = trunc i64 %.48 to i32
  %.50 = insertelement <8 x i32> poison, i32 %.49, i32 0
  %.51 = shufflevector <8 x i32> %.50, <8 x i32> poison, <8 x i32> zeroinitializer
  %.52 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.51
  %.53 = add i64 %.13, -2
  %.54 = add i64 %.13, -2
  %.55 = sub i64 0, %.54
  %.56 = icmp slt i64 8, %.55
  %.57 = select i1 %.56, i64 8, i64 %.55
  %.58 = icmp sgt i64 0, %.57
  %.59 = select i1 %.58, i64 0, i64 %.57
  %.60 = trunc i64 %.59 to i32
  %.61 = sub i64 10, %.54
  %.62 = icmp slt i64 8, %.61
  %.63 = select i1 %.62, i64 8, i64 %.61
  %.64 = icmp sgt i64 0, %.63
  %.65 = select i1 %.64, i64 0, i64 %.63
  %.66 = trunc i64 %.65 to i32
  %.67 = insertelement <8 x i32> poison, i32 %.60, i32 0
  %.68 = shufflevector <8 x i32> %.67, <8 x i32> poison, <8 x i32> zeroinitializer
  %.69 = icmp sge <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.68
  %.70 = insertelement <8 x i32> poison, i32 %.66, i32 0
  %.71 = shufflevector <8 x i32> %.70, <8 x i32> poison, <8 x i32> zeroinitializer
  %.72 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.71
  %.73 = and <8 x i1> %.69, %.72
  %.74 = and <8 x i1> %.52, %.73
  %.75 = getelementptr inbounds float, ptr %p0, i64 %.53
  %.76 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.75, i32 4, <8 x i1> %.74, <8 x float> splat (float 0x0000000000000000))
  %.77 = select <8 x i1> %.73, <8 x float> %.76, <8 x float> splat (float 0x0000000000000000)
  %.78 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.77, ptr %.78, i32 4, <8 x i1> %.52)
  br label %join.47
join.47:
  %.79 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
