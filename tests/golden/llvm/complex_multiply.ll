declare <64 x float> @llvm.masked.load.v64f32.p0(ptr, i32 immarg, <64 x i1>, <64 x float>)
declare void @llvm.masked.store.v64f32.p0(<64 x float>, ptr, i32 immarg, <64 x i1>)
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
  call void @kernel0.run(ptr %run, ptr %.4, ptr %.2, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.69, %join.41 ]
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
  %.17 = phi i64 [ %.6, %body.2 ], [ %.38, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = mul i64 %.17, 2
  %.20 = getelementptr inbounds float, ptr %p0, i64 %.19
  %.21 = load <64 x float>, ptr %.20, align 4
  %.22 = shufflevector <64 x float> %.21, <64 x float> %.21, <32 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30, i32 32, i32 34, i32 36, i32 38, i32 40, i32 42, i32 44, i32 46, i32 48, i32 50, i32 52, i32 54, i32 56, i32 58, i32 60, i32 62>
  %.23 = shufflevector <64 x float> %.21, <64 x float> %.21, <32 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31, i32 33, i32 35, i32 37, i32 39, i32 41, i32 43, i32 45, i32 47, i32 49, i32 51, i32 53, i32 55, i32 57, i32 59, i32 61, i32 63>
  %.24 = mul i64 %.17, 2
  %.25 = getelementptr inbounds float, ptr %p1, i64 %.24
  %.26 = load <64 x float>, ptr %.25, align 4
  %.27 = shufflevector <64 x float> %.26, <64 x float> %.26, <32 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30, i32 32, i32 34, i32 36, i32 38, i32 40, i32 42, i32 44, i32 46, i32 48, i32 50, i32 52, i32 54, i32 56, i32 58, i32 60, i32 62>
  %.28 = shufflevector <64 x float> %.26, <64 x float> %.26, <32 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31, i32 33, i32 35, i32 37, i32 39, i32 41, i32 43, i32 45, i32 47, i32 49, i32 51, i32 53, i32 55, i32 57, i32 59, i32 61, i32 63>
  %.29 = fmul <32 x float> %.27, %.22
  %.30 = fmul <32 x float> %.28, %.23
  %.31 = fsub <32 x float> %.29, %.30
  %.32 = fmul <32 x float> %.27, %.23
  %.33 = fmul <32 x float> %.28, %.22
  %.34 = fadd <32 x float> %.32, %.33
  %.35 = shufflevector <32 x float> %.31, <32 x float> %.34, <64 x i32> <i32 0, i32 32, i32 1, i32 33, i32 2, i32 34, i32 3, i32 35, i32 4, i32 36, i32 5, i32 37, i32 6, i32 38, i32 7, i32 39, i32 8, i32 40, i32 9, i32 41, i32 10, i32 42, i32 11, i32 43, i32 12, i32 44, i32 13, i32 45, i32 14, i32 46, i32 15, i32 47, i32 16, i32 48, i32 17, i32 49, i32 18, i32 50, i32 19, i32 51, i32 20, i32 52, i32 21, i32 53, i32 22, i32 54, i32 23, i32 55, i32 24, i32 56, i32 25, i32 57, i32 26, i32 58, i32 27, i32 59, i32 28, i32 60, i32 29, i32 61, i32 30, i32 62, i32 31, i32 63>
  %.36 = mul i64 %.17, 2
  %.37 = getelementptr inbounds float, ptr %p2, i64 %.36
  store <64 x float> %.35, ptr %.37, align 4
  %.38 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.39 = icmp slt i64 %.13, %.9
  br i1 %.39, label %then.40, label %join.41
then.40:
  %.42 = sub i64 %.9, %.13
  %.43 = trunc i64 %.42 to i32
  %.44 = insertelement <32 x i32> poison, i32 %.43, i32 0
  %.45 = shufflevector <32 x i32> %.44, <32 x i32> poison, <32 x i32> zeroinitializer
  %.46 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.45
  %.47 = mul i64 %.13, 2
  %.48 = getelementptr inbounds float, ptr %p0, i64 %.47
  %.49 = shufflevector <32 x i1> %.46, <32 x i1> %.46, <64 x i32> <i32 0, i32 0, i32 1, i32 1, i32 2, i32 2, i32 3, i32 3, i32 4, i32 4, i32 5, i32 5, i32 6, i32 6, i32 7, i32 7, i32 8, i32 8, i32 9, i32 9, i32 10, i32 10, i32 11, i32 11, i32 12, i32 12, i32 13, i32 13, i32 14, i32 14, i32 15, i32 15, i32 16, i32 16, i32 17, i32 17, i32 18, i32 18, i32 19, i32 19, i32 20, i32 20, i32 21, i32 21, i32 22, i32 22, i32 23, i32 23, i32 24, i32 24, i32 25, i32 25, i32 26, i32 26, i32 27, i32 27, i32 28, i32 28, i32 29, i32 29, i32 30, i32 30, i32 31, i32 31>
  %.50 = call <64 x float> @llvm.masked.load.v64f32.p0(ptr %.48, i32 4, <64 x i1> %.49, <64 x float> splat (float 0x0000000000000000))
  %.51 = shufflevector <64 x float> %.50, <64 x float> %.50, <32 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30, i32 32, i32 34, i32 36, i32 38, i32 40, i32 42, i32 44, i32 46, i32 48, i32 50, i32 52, i32 54, i32 56, i32 58, i32 60, i32 62>
  %.52 = shufflevector <64 x float> %.50, <64 x float> %.50, <32 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31, i32 33, i32 35, i32 37, i32 39, i32 41, i32 43, i32 45, i32 47, i32 49, i32 51, i32 53, i32 55, i32 57, i32 59, i32 61, i32 63>
  %.53 = mul i64 %.13, 2
  %.54 = getelementptr inbounds float, ptr %p1, i64 %.53
  %.55 = shufflevector <32 x i1> %.46, <32 x i1> %.46, <64 x i32> <i32 0, i32 0, i32 1, i32 1, i32 2, i32 2, i32 3, i32 3, i32 4, i32 4, i32 5, i32 5, i32 6, i32 6, i32 7, i32 7, i32 8, i32 8, i32 9, i32 9, i32 10, i32 10, i32 11, i32 11, i32 12, i32 12, i32 13, i32 13, i32 14, i32 14, i32 15, i32 15, i32 16, i32 16, i32 17, i32 17, i32 18, i32 18, i32 19, i32 19, i32 20, i32 20, i32 21, i32 21, i32 22, i32 22, i32 23, i32 23, i32 24, i32 24, i32 25, i32 25, i32 26, i32 26, i32 27, i32 27, i32 28, i32 28, i32 29, i32 29, i32 30, i32 30, i32 31, i32 31>
  %.56 = call <64 x float> @llvm.masked.load.v64f32.p0(ptr %.54, i32 4, <64 x i1> %.55, <64 x float> splat (float 0x0000000000000000))
  %.57 = shufflevector <64 x float> %.56, <64 x float> %.56, <32 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30, i32 32, i32 34, i32 36, i32 38, i32 40, i32 42, i32 44, i32 46, i32 48, i32 50, i32 52, i32 54, i32 56, i32 58, i32 60, i32 62>
  %.58 = shufflevector <64 x float> %.56, <64 x float> %.56, <32 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31, i32 33, i32 35, i32 37, i32 39, i32 41, i32 43, i32 45, i32 47, i32 49, i32 51, i32 53, i32 55, i32 57, i32 59, i32 61, i32 63>
  %.59 = fmul <32 x float> %.57, %.51
  %.60 = fmul <32 x float> %.58, %.52
  %.61 = fsub <32 x float> %.59, %.60
  %.62 = fmul <32 x float> %.57, %.52
  %.63 = fmul <32 x float> %.58, %.51
  %.64 = fadd <32 x float> %.62, %.63
  %.65 = shufflevector <32 x float> %.61, <32 x float> %.64, <64 x i32> <i32 0, i32 32, i32 1, i32 33, i32 2, i32 34, i32 3, i32 35, i32 4, i32 36, i32 5, i32 37, i32 6, i32 38, i32 7, i32 39, i32 8, i32 40, i32 9, i32 41, i32 10, i32 42, i32 11, i32 43, i32 12, i32 44, i32 13, i32 45, i32 14, i32 46, i32 15, i32 47, i32 16, i32 48, i32 17, i32 49, i32 18, i32 50, i32 19, i32 51, i32 20, i32 52, i32 21, i32 53, i32 22, i32 54, i32 23, i32 55, i32 24, i32 56, i32 25, i32 57, i32 26, i32 58, i32 27, i32 59, i32 28, i32 60, i32 29, i32 61, i32 30, i32 62, i32 31, i32 63>
  %.66 = mul i64 %.13, 2
  %.67 = getelementptr inbounds float, ptr %p2, i64 %.66
  %.68 = shufflevector <32 x i1> %.46, <32 x i1> %.46, <64 x i32> <i32 0, i32 0, i32 1, i32 1, i32 2, i32 2, i32 3, i32 3, i32 4, i32 4, i32 5, i32 5, i32 6, i32 6, i32 7, i32 7, i32 8, i32 8, i32 9, i32 9, i32 10, i32 10, i32 11, i32 11, i32 12, i32 12, i32 13, i32 13, i32 14, i32 14, i32 15, i32 15, i32 16, i32 16, i32 17, i32 17, i32 18, i32 18, i32 19, i32 19, i32 20, i32 20, i32 21, i32 21, i32 22, i32 22, i32 23, i32 23, i32 24, i32 24, i32 25, i32 25, i32 26, i32 26, i32 27, i32 27, i32 28, i32 28, i32 29, i32 29, i32 30, i32 30, i32 31, i32 31>
  call void @llvm.masked.store.v64f32.p0(<64 x float> %.65, ptr %.67, i32 4, <64 x i1> %.68)
  br label %join.41
join.41:
  %.69 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 1)
  ret void
}
