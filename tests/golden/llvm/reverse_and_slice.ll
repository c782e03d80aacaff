declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32 immarg, <8 x i1>, <8 x float>)
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
  %.4 = phi i64 [ %begin, %entry ], [ %.46, %join.31 ]
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
  %.17 = phi i64 [ %.6, %body.2 ], [ %.28, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = mul i64 %.17, -3
  %.20 = add i64 %.19, 37
  %.21 = insertelement <8 x i64> poison, i64 %.20, i32 0
  %.22 = shufflevector <8 x i64> %.21, <8 x i64> poison, <8 x i32> zeroinitializer
  %.23 = add <8 x i64> %.22, <i64 0, i64 -3, i64 -6, i64 -9, i64 -12, i64 -15, i64 -18, i64 -21>
  %.24 = getelementptr inbounds float, ptr %p0, <8 x i64> %.23
  %.25 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %.24, i32 4, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %.26 = fmul contract <8 x float> %.25, splat (float 0x4000000000000000)
  %.27 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <8 x float> %.26, ptr %.27, align 4
  %.28 = add nsw i64 %.17, 8
  br label %loop.14
done.16:
  %.29 = icmp slt i64 %.13, %.9
  br i1 %.29, label %then.30, label %join.31
then.30:
  %.32 = sub i64 %.9, %.13
  %.33 = trunc i64 %.32 to i32
  %.34 = insertelement <8 x i32> poison, i32 %.33, i32 0
  %.35 = shufflevector <8 x i32> %.34, <8 x i32> poison, <8 x i32> zeroinitializer
  %.36 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.35
  %.37 = mul i64 %.13, -3
  %.38 = add i64 %.37, 37
  %.39 = insertelement <8 x i64> poison, i64 %.38, i32 0
  %.40 = shufflevector <8 x i64> %.39, <8 x i64> poison, <8 x i32> zeroinitializer
  %.41 = add <8 x i64> %.40, <i64 0, i64 -3, i64 -6, i64 -9, i64 -12, i64 -15, i64 -18, i64 -21>
  %.42 = getelementptr inbounds float, ptr %p0, <8 x i64> %.41
  %.43 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %.42, i32 4, <8 x i1> %.36, <8 x float> splat (float 0x0000000000000000))
  %.44 = fmul contract <8 x float> %.43, splat (float 0x4000000000000000)
  %.45 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.44, ptr %.45, i32 4, <8 x i1> %.36)
  br label %join.31
join.31:
  %.46 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
