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
  %.7 = alloca double, align 16
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %arguments, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %results, i64 0
  %.6 = load ptr, ptr %.5, align 8
  call void @kernel0.run(ptr %run, ptr %.4, ptr %.2, ptr %.7)
  %.8 = getelementptr inbounds double, ptr %.7, i64 0
  %.9 = load double, ptr %.8, align 8
  %.10 = getelementptr inbounds i64, ptr %results, i64 0
  %.11 = load ptr, ptr %.10, align 8
  store double %.9, ptr %.11, align 8
  %.12 = getelementptr inbounds i64, ptr %run, i64 1
  %.13 = load i64, ptr %.12, align 8
  ret i64 %.13
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  %.6 = alloca <16 x double>
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.40, %done.13 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  store <16 x double> splat (double 0x0000000000000000), ptr %.6, align 8
  %.7 = sub i64 64, 0
  %.8 = sdiv i64 %.7, 16
  %.9 = mul i64 %.8, 16
  %.10 = add i64 0, %.9
  br label %loop.11
loop.11:
  %.14 = phi i64 [ 0, %body.2 ], [ %.24, %body.12 ]
  %.15 = icmp slt i64 %.14, %.10
  br i1 %.15, label %body.12, label %done.13
body.12:
  %.16 = getelementptr inbounds double, ptr %p0, i64 %.14
  %.17 = load <16 x double>, ptr %.16, align 8
  %.18 = getelementptr inbounds double, ptr %p1, i64 %.14
  %.19 = load <16 x double>, ptr %.18, align 8
  %.20 = fsub contract <16 x double> %.19, %.17
  %.21 = fmul contract <16 x double> %.20, %.20
  %.22 = load <16 x double>, ptr %.6, align 8
  %.23 = fadd contract <16 x double> %.22, %.21
  store <16 x double> %.23, ptr %.6, align 8
  %.24 = add nsw i64 %.14, 16
  br label %loop.11
done.13:
  %.25 = load <16 x double>, ptr %.6, align 8
  %.26 = shufflevector <16 x double> %.25, <16 x double> %.25, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.27 = shufflevector <16 x double> %.25, <16 x double> %.25, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.28 = fadd contract <8 x double> %.26, %.27
  %.29 = shufflevector <8 x double> %.28, <8 x double> %.28, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.30 = shufflevector <8 x double> %.28, <8 x double> %.28, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.31 = fadd contract <4 x double> %.29, %.30
  %.32 = shufflevector <4 x double> %.31, <4 x double> %.31, <2 x i32> <i32 0, i32 1>
  %.33 = shufflevector <4 x double> %.31, <4 x double> %.31, <2 x i32> <i32 2, i32 3>
  %.34 = fadd contract <2 x double> %.32, %.33
  %.35 = shufflevector <2 x double> %.34, <2 x double> %.34, <1 x i32> <i32 0>
  %.36 = shufflevector <2 x double> %.34, <2 x double> %.34, <1 x i32> <i32 1>
  %.37 = fadd contract <1 x double> %.35, %.36
  %.38 = extractelement <1 x double> %.37, i32 0
  %.39 = getelementptr inbounds double, ptr %p2, i64 0
  store double %.38, ptr %.39, align 8
  %.40 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 1)
  ret void
}
