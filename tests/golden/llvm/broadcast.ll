declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32 immarg, <32 x i1>, <32 x float>)
declare void @llvm.masked.store.v32f32.p0(<32 x float>, ptr, i32 immarg, <32 x i1>)
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
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.4, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.52, %join.36 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = srem i64 %.4, 1
  %.7 = sdiv i64 %.4, 1
  %.8 = mul i64 %.6, 4096
  %.9 = add i64 %.8, 4096
  %.10 = icmp slt i64 40, %.9
  %.11 = select i1 %.10, i64 40, i64 %.9
  %.12 = getelementptr inbounds float, ptr %p0, i64 %.7
  %.13 = load float, ptr %.12, align 4
  %.14 = sub i64 %.11, %.8
  %.15 = sdiv i64 %.14, 32
  %.16 = mul i64 %.15, 32
  %.17 = add i64 %.8, %.16
  br label %loop.18
loop.18:
  %.21 = phi i64 [ %.8, %body.2 ], [ %.33, %body.19 ]
  %.22 = icmp slt i64 %.21, %.17
  br i1 %.22, label %body.19, label %done.20
body.19:
  %.23 = mul i64 %.7, 40
  %.24 = add i64 %.23, %.21
  %.25 = getelementptr inbounds float, ptr %p1, i64 %.24
  %.26 = load <32 x float>, ptr %.25, align 4
  %.27 = insertelement <32 x float> poison, float %.13, i32 0
  %.28 = shufflevector <32 x float> %.27, <32 x float> poison, <32 x i32> zeroinitializer
  %.29 = fadd contract <32 x float> %.28, %.26
  %.30 = mul i64 %.7, 40
  %.31 = add i64 %.30, %.21
  %.32 = getelementptr inbounds float, ptr %p2, i64 %.31
  store <32 x float> %.29, ptr %.32, align 4
  %.33 = add nsw i64 %.21, 32
  br label %loop.18
done.20:
  %.34 = icmp slt i64 %.17, %.11
  br i1 %.34, label %then.35, label %join.36
then.35:
  %.37 = sub i64 %.11, %.17
  %.38 = trunc i64 %.37 to i32
  %.39 = insertelement <32 x i32> poison, i32 %.38, i32 0
  %.40 = shufflevector <32 x i32> %.39, <32 x i32> poison, <32 x i32> zeroinitializer
  %.41 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.40
  %.42 = mul i64 %.7, 40
  %.43 = add i64 %.42, %.17
  %.44 = getelementptr inbounds float, ptr %p1, i64 %.43
  %.45 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.44, i32 4, <32 x i1> %.41, <32 x float> splat (float 0x0000000000000000))
  %.46 = insertelement <32 x float> poison, float %.13, i32 0
  %.47 = shufflevector <32 x float> %.46, <32 x float> poison, <32 x i32> zeroinitializer
  %.48 = fadd contract <32 x float> %.47, %.45
  %.49 = mul i64 %.7, 40
  %.50 = add i64 %.49, %.17
  %.51 = getelementptr inbounds float, ptr %p2, i64 %.50
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.48, ptr %.51, i32 4, <32 x i1> %.41)
  br label %join.36
join.36:
  %.52 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 6)
  ret void
}
