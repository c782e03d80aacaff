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
  %.6 = alloca <32 x float>
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.56, %join.25 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  store <32 x float> splat (float 0x0000000000000000), ptr %.6, align 4
  %.7 = sub i64 40, 0
  %.8 = sdiv i64 %.7, 32
  %.9 = mul i64 %.8, 32
  %.10 = add i64 0, %.9
  br label %loop.11
loop.11:
  %.14 = phi i64 [ 0, %body.2 ], [ %.22, %body.12 ]
  %.15 = icmp slt i64 %.14, %.10
  br i1 %.15, label %body.12, label %done.13
body.12:
  %.16 = mul i64 %.4, 40
  %.17 = add i64 %.16, %.14
  %.18 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.19 = load <32 x float>, ptr %.18, align 4
  %.20 = load <32 x float>, ptr %.6, align 4
  %.21 = fadd contract <32 x float> %.20, %.19
  store <32 x float> %.21, ptr %.6, align 4
  %.22 = add nsw i64 %.14, 32
  br label %loop.11
done.13:
  %.23 = icmp slt i64 %.10, 40
  br i1 %.23, label %then.24, label %join.25
then.24:
  %.26 = sub i64 40, %.10
  %.27 = trunc i64 %.26 to i32
  %.28 = insertelement <32 x i32> poison, i32 %.27, i32 0
  %.29 = shufflevector <32 x i32> %.28, <32 x i32> poison, <32 x i32> zeroinitializer
  %.30 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.29
  %.31 = mul i64 %.4, 40
  %.32 = add i64 %.31, %.10
  %.33 = getelementptr inbounds float, ptr %p0, i64 %.32
  %.34 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.33, i32 4, <32 x i1> %.30, <32 x float> splat (float 0x0000000000000000))
  %.35 = load <32 x float>, ptr %.6, align 4
  %.36 = fadd contract <32 x float> %.35, %.34
  %.37 = select <32 x i1> %.30, <32 x float> %.36, <32 x float> %.35
  store <32 x float> %.37, ptr %.6, align 4
  br label %join.25
join.25:
  %.38 = load <32 x float>, ptr %.6, align 4
  %.39 = shufflevector <32 x float> %.38, <32 x float> %.38, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.40 = shufflevector <32 x float> %.38, <32 x float> %.38, <16 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %.41 = fadd contract <16 x float> %.39, %.40
  %.42 = shufflevector <16 x float> %.41, <16 x float> %.41, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.43 = shufflevector <16 x float> %.41, <16 x float> %.41, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.44 = fadd contract <8 x float> %.42, %.43
  %.45 = shufflevector <8 x float> %.44, <8 x float> %.44, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.46 = shufflevector <8 x float> %.44, <8 x float> %.44, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.47 = fadd contract <4 x float> %.45, %.46
  %.48 = shufflevector <4 x float> %.47, <4 x float> %.47, <2 x i32> <i32 0, i32 1>
  %.49 = shufflevector <4 x float> %.47, <4 x float> %.47, <2 x i32> <i32 2, i32 3>
  %.50 = fadd contract <2 x float> %.48, %.49
  %.51 = shufflevector <2 x float> %.50, <2 x float> %.50, <1 x i32> <i32 0>
  %.52 = shufflevector <2 x float> %.50, <2 x float> %.50, <1 x i32> <i32 1>
  %.53 = fadd contract <1 x float> %.51, %.52
  %.54 = extractelement <1 x float> %.53, i32 0
  %.55 = getelementptr inbounds float, ptr %p1, i64 %.4
  store float %.54, ptr %.55, align 4
  %.56 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 6)
  ret void
}
