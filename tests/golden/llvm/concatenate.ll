declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32 immarg, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32 immarg, <8 x i1>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
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
  %.3 = getelementptr inbounds i64, ptr %arguments, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %results, i64 0
  %.6 = load ptr, ptr %.5, align 8
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.6)
  %.7 = getelementptr inbounds i8, ptr %.6, i64 40
  call void @kernel1.run(ptr %run, ptr %.4, ptr %.7)
  %.8 = getelementptr inbounds i64, ptr %run, i64 1
  %.9 = load i64, ptr %.8, align 8
  ret i64 %.9
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.34, %join.25 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 10, %.7
  %.9 = select i1 %.8, i64 10, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 8
  %.12 = mul i64 %.11, 8
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.22, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <8 x float>, ptr %.19, align 4
  %.21 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <8 x float> %.20, ptr %.21, align 4
  %.22 = add nsw i64 %.17, 8
  br label %loop.14
done.16:
  %.23 = icmp slt i64 %.13, %.9
  br i1 %.23, label %then.24, label %join.25
then.24:
  %.26 = sub i64 %.9, %.13
  %.27 = trunc i64 %.26 to i32
  %.28 = insertelement <8 x i32> poison, i32 %.27, i32 0
  %.29 = shufflevector <8 x i32> %.28, <8 x i32> poison, <8 x i32> zeroinitializer
  %.30 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.29
  %.31 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.32 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.31, i32 4, <8 x i1> %.30, <8 x float> splat (float 0x0000000000000000))
  %.33 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.32, ptr %.33, i32 4, <8 x i1> %.30)
  br label %join.25
join.25:
  %.34 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
define internal void @kernel1(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.36, %join.26 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 30, %.7
  %.9 = select i1 %.8, i64 30, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 16
  %.12 = mul i64 %.11, 16
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.23, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <16 x float>, ptr %.19, align 4
  %.21 = fmul contract <16 x float> %.20, splat (float 0x4000000000000000)
  %.22 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <16 x float> %.21, ptr %.22, align 4
  %.23 = add nsw i64 %.17, 16
  br label %loop.14
done.16:
  %.24 = icmp slt i64 %.13, %.9
  br i1 %.24, label %then.25, label %join.26
then.25:
  %.27 = sub i64 %.9, %.13
  %.28 = trunc i64 %.27 to i32
  %.29 = insertelement <16 x i32> poison, i32 %.28, i32 0
  %.30 = shufflevector <16 x i32> %.29, <16 x i32> poison, <16 x i32> zeroinitializer
  %.31 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.30
  %.32 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.33 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.32, i32 4, <16 x i1> %.31, <16 x float> splat (float 0x0000000000000000))
  %.34 = fmul contract <16 x float> %.33, splat (float 0x4000000000000000)
  %.35 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.34, ptr %.35, i32 4, <16 x i1> %.31)
  br label %join.26
join.26:
  %.36 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel1.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel1(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
