declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32 immarg, <32 x i1>, <32 x float>)
declare void @llvm.masked.store.v32f32.p0(<32 x float>, ptr, i32 immarg, <32 x i1>)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %numbers, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 0
  %.4 = load i64, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 0, ptr %.5, align 8
  ret i64 0
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %numbers, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %results, i64 0
  %.6 = load ptr, ptr %.5, align 8
  call void @kernel0.run(ptr %run, ptr %.4, ptr %.6, i64 %.2)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %s.stride.0.0, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.46, %join.32 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = srem i64 %.4, 1
  %.7 = sdiv i64 %.4, 1
  %.8 = mul i64 %.6, 4096
  %.9 = add i64 %.8, 4096
  %.10 = icmp slt i64 40, %.9
  %.11 = select i1 %.10, i64 40, i64 %.9
  %.12 = sub i64 %.11, %.8
  %.13 = sdiv i64 %.12, 32
  %.14 = mul i64 %.13, 32
  %.15 = add i64 %.8, %.14
  br label %loop.16
loop.16:
  %.19 = phi i64 [ %.8, %body.2 ], [ %.29, %body.17 ]
  %.20 = icmp slt i64 %.19, %.15
  br i1 %.20, label %body.17, label %done.18
body.17:
  %.21 = mul i64 %.7, %s.stride.0.0
  %.22 = add i64 %.21, %.19
  %.23 = getelementptr inbounds float, ptr %p0, i64 %.22
  %.24 = load <32 x float>, ptr %.23, align 4
  %.25 = fadd contract <32 x float> %.24, splat (float 0x3FF0000000000000)
  %.26 = mul i64 %.7, 40
  %.27 = add i64 %.26, %.19
  %.28 = getelementptr inbounds float, ptr %p1, i64 %.27
  store <32 x float> %.25, ptr %.28, align 4
  %.29 = add nsw i64 %.19, 32
  br label %loop.16
done.18:
  %.30 = icmp slt i64 %.15, %.11
  br i1 %.30, label %then.31, label %join.32
then.31:
  %.33 = sub i64 %.11, %.15
  %.34 = trunc i64 %.33 to i32
  %.35 = insertelement <32 x i32> poison, i32 %.34, i32 0
  %.36 = shufflevector <32 x i32> %.35, <32 x i32> poison, <32 x i32> zeroinitializer
  %.37 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.36
  %.38 = mul i64 %.7, %s.stride.0.0
  %.39 = add i64 %.38, %.15
  %.40 = getelementptr inbounds float, ptr %p0, i64 %.39
  %.41 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.40, i32 4, <32 x i1> %.37, <32 x float> splat (float 0x0000000000000000))
  %.42 = fadd contract <32 x float> %.41, splat (float 0x3FF0000000000000)
  %.43 = mul i64 %.7, 40
  %.44 = add i64 %.43, %.15
  %.45 = getelementptr inbounds float, ptr %p1, i64 %.44
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.42, ptr %.45, i32 4, <32 x i1> %.37)
  br label %join.32
join.32:
  %.46 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, i64 %s.stride.0.0)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 %s.stride.0.0, i64 0, i64 6)
  ret void
}
