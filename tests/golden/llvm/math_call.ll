declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
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
  %.4 = phi i64 [ %begin, %entry ], [ %.36, %join.26 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 100, %.7
  %.9 = select i1 %.8, i64 100, i64 %.7
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
  %.21 = call <16 x float> @weft.tanh.v16f32(<16 x float> %.20)
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
  %.34 = call <16 x float> @weft.tanh.v16f32(<16 x float> %.33)
  %.35 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.34, ptr %.35, i32 4, <16 x i1> %.31)
  br label %join.26
join.26:
  %.36 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal <16 x float> @weft.tanh.v16f32(<16 x float> %x0) alwaysinline ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
