declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, i32 immarg, <32 x i1>, <32 x i16>)
declare void @llvm.masked.store.v32i16.p0(<32 x i16>, ptr, i32 immarg, <32 x i1>)
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
  %.4 = phi i64 [ %begin, %entry ], [ %.68, %join.42 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 40, %.7
  %.9 = select i1 %.8, i64 40, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 32
  %.12 = mul i64 %.11, 32
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.39, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds i16, ptr %p0, i64 %.17
  %.20 = load <32 x i16>, ptr %.19, align 2
  %.21 = zext <32 x i16> %.20 to <32 x i32>
  %.22 = shl <32 x i32> %.21, splat (i32 16)
  %.23 = bitcast <32 x i32> %.22 to <32 x float>
  %.24 = zext <32 x i16> %.20 to <32 x i32>
  %.25 = shl <32 x i32> %.24, splat (i32 16)
  %.26 = bitcast <32 x i32> %.25 to <32 x float>
  %.27 = fmul <32 x float> %.23, %.26
  %.28 = bitcast <32 x float> %.27 to <32 x i32>
  %.29 = lshr <32 x i32> %.28, splat (i32 16)
  %.30 = and <32 x i32> %.29, splat (i32 1)
  %.31 = add <32 x i32> %.30, splat (i32 32767)
  %.32 = add <32 x i32> %.28, %.31
  %.33 = fcmp uno <32 x float> %.27, %.27
  %.34 = or <32 x i32> %.28, splat (i32 4194304)
  %.35 = select <32 x i1> %.33, <32 x i32> %.34, <32 x i32> %.32
  %.36 = lshr <32 x i32> %.35, splat (i32 16)
  %.37 = trunc <32 x i32> %.36 to <32 x i16>
  %.38 = getelementptr inbounds i16, ptr %p1, i64 %.17
  store <32 x i16> %.37, ptr %.38, align 2
  %.39 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.40 = icmp slt i64 %.13, %.9
  br i1 %.40, label %then.41, label %join.42
then.41:
  %.43 = sub i64 %.9, %.13
  %.44 = trunc i64 %.43 to i32
  %.45 = insertelement <32 x i32> poison, i32 %.44, i32 0
  %.46 = shufflevector <32 x i32> %.45, <32 x i32> poison, <32 x i32> zeroinitializer
  %.47 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.46
  %.48 = getelementptr inbounds i16, ptr %p0, i64 %.13
  %.49 = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr %.48, i32 2, <32 x i1> %.47, <32 x i16> splat (i16 0))
  %.50 = zext <32 x i16> %.49 to <32 x i32>
  %.51 = shl <32 x i32> %.50, splat (i32 16)
  %.52 = bitcast <32 x i32> %.51 to <32 x float>
  %.53 = zext <32 x i16> %.49 to <32 x i32>
  %.54 = shl <32 x i32> %.53, splat (i32 16)
  %.55 = bitcast <32 x i32> %.54 to <32 x float>
  %.56 = fmul <32 x float> %.52, %.55
  %.57 = bitcast <32 x float> %.56 to <32 x i32>
  %.58 = lshr <32 x i32> %.57, splat (i32 16)
  %.59 = and <32 x i32> %.58, splat (i32 1)
  %.60 = add <32 x i32> %.59, splat (i32 32767)
  %.61 = add <32 x i32> %.57, %.60
  %.62 = fcmp uno <32 x float> %.56, %.56
  %.63 = or <32 x i32> %.57, splat (i32 4194304)
  %.64 = select <32 x i1> %.62, <32 x i32> %.63, <32 x i32> %.61
  %.65 = lshr <32 x i32> %.64, splat (i32 16)
  %.66 = trunc <32 x i32> %.65 to <32 x i16>
  %.67 = getelementptr inbounds i16, ptr %p1, i64 %.13
  call void @llvm.masked.store.v32i16.p0(<32 x i16> %.66, ptr %.67, i32 2, <32 x i1> %.47)
  br label %join.42
join.42:
  %.68 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
