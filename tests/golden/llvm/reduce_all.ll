declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32 immarg, <32 x i1>, <32 x float>)
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
  %.5 = alloca float, align 16
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.5)
  %.6 = getelementptr inbounds float, ptr %.5, i64 0
  %.7 = load float, ptr %.6, align 4
  %.8 = getelementptr inbounds i64, ptr %results, i64 0
  %.9 = load ptr, ptr %.8, align 8
  store float %.7, ptr %.9, align 4
  %.10 = getelementptr inbounds i64, ptr %run, i64 1
  %.11 = load i64, ptr %.10, align 8
  ret i64 %.11
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  %.6 = alloca <32 x float>
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.52, %join.23 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  store <32 x float> splat (float 0x0000000000000000), ptr %.6, align 4
  %.7 = sub i64 10000, 0
  %.8 = sdiv i64 %.7, 32
  %.9 = mul i64 %.8, 32
  %.10 = add i64 0, %.9
  br label %loop.11
loop.11:
  %.14 = phi i64 [ 0, %body.2 ], [ %.20, %body.12 ]
  %.15 = icmp slt i64 %.14, %.10
  br i1 %.15, label %body.12, label %done.13
body.12:
  %.16 = getelementptr inbounds float, ptr %p0, i64 %.14
  %.17 = load <32 x float>, ptr %.16, align 4
  %.18 = load <32 x float>, ptr %.6, align 4
  %.19 = fadd contract <32 x float> %.18, %.17
  store <32 x float> %.19, ptr %.6, align 4
  %.20 = add nsw i64 %.14, 32
  br label %loop.11
done.13:
  %.21 = icmp slt i64 %.10, 10000
  br i1 %.21, label %then.22, label %join.23
then.22:
  %.24 = sub i64 10000, %.10
  %.25 = trunc i64 %.24 to i32
  %.26 = insertelement <32 x i32> poison, i32 %.25, i32 0
  %.27 = shufflevector <32 x i32> %.26, <32 x i32> poison, <32 x i32> zeroinitializer
  %.28 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.27
  %.29 = getelementptr inbounds float, ptr %p0, i64 %.10
  %.30 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.29, i32 4, <32 x i1> %.28, <32 x float> splat (float 0x0000000000000000))
  %.31 = load <32 x float>, ptr %.6, align 4
  %.32 = fadd contract <32 x float> %.31, %.30
  %.33 = select <32 x i1> %.28, <32 x float> %.32, <32 x float> %.31
  store <32 x float> %.33, ptr %.6, align 4
  br label %join.23
join.23:
  %.34 = load <32 x float>, ptr %.6, align 4
  %.35 = shufflevector <32 x float> %.34, <32 x float> %.34, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.36 = shufflevector <32 x float> %.34, <32 x float> %.34, <16 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %.37 = fadd contract <16 x float> %.35, %.36
  %.38 = shufflevector <16 x float> %.37, <16 x float> %.37, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.39 = shufflevector <16 x float> %.37, <16 x float> %.37, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.40 = fadd contract <8 x float> %.38, %.39
  %.41 = shufflevector <8 x float> %.40, <8 x float> %.40, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.42 = shufflevector <8 x float> %.40, <8 x float> %.40, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.43 = fadd contract <4 x float> %.41, %.42
  %.44 = shufflevector <4 x float> %.43, <4 x float> %.43, <2 x i32> <i32 0, i32 1>
  %.45 = shufflevector <4 x float> %.43, <4 x float> %.43, <2 x i32> <i32 2, i32 3>
  %.46 = fadd contract <2 x float> %.44, %.45
  %.47 = shufflevector <2 x float> %.46, <2 x float> %.46, <1 x i32> <i32 0>
  %.48 = shufflevector <2 x float> %.46, <2 x float> %.46, <1 x i32> <i32 1>
  %.49 = fadd contract <1 x float> %.47, %.48
  %.50 = extractelement <1 x float> %.49, i32 0
  %.51 = getelementptr inbounds float, ptr %p1, i64 0
  store float %.50, ptr %.51, align 4
  %.52 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
