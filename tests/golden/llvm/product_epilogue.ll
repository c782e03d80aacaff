declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
declare void @weft_gemm_f32(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64)
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
  %.9 = alloca [2 x i64], align 8
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %arguments, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %arguments, i64 2
  %.6 = load ptr, ptr %.5, align 8
  %.7 = getelementptr inbounds i64, ptr %results, i64 0
  %.8 = load ptr, ptr %.7, align 8
  %.10 = getelementptr inbounds i64, ptr %.9, i64 0
  store ptr %.6, ptr %.10, align 8
  %.11 = getelementptr inbounds i64, ptr %.9, i64 1
  store ptr %.8, ptr %.11, align 8
  call void @dot_general0(ptr %run, ptr %.2, ptr %.4, ptr %.8, ptr @kernel0.rows0, ptr %.9)
  %.12 = getelementptr inbounds i64, ptr %run, i64 1
  %.13 = load i64, ptr %.12, align 8
  %.14 = icmp eq i64 %.13, -4
  br i1 %.14, label %no.memory, label %next.15, !prof !{!"branch_weights", i32 1, i32 2000}
next.15:
  %.16 = getelementptr inbounds i64, ptr %run, i64 1
  %.17 = load i64, ptr %.16, align 8
  ret i64 %.17
no.memory:
  ret i64 zeroinitializer
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.58, %join.38 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = srem i64 %.4, 1
  %.7 = sdiv i64 %.4, 1
  %.8 = mul i64 %.6, 4096
  %.9 = add i64 %.8, 4096
  %.10 = icmp slt i64 20, %.9
  %.11 = select i1 %.10, i64 20, i64 %.9
  %.12 = sub i64 %.11, %.8
  %.13 = sdiv i64 %.12, 16
  %.14 = mul i64 %.13, 16
  %.15 = add i64 %.8, %.14
  br label %loop.16
loop.16:
  %.19 = phi i64 [ %.8, %body.2 ], [ %.35, %body.17 ]
  %.20 = icmp slt i64 %.19, %.15
  br i1 %.20, label %body.17, label %done.18
body.17:
  %.21 = getelementptr inbounds float, ptr %p0, i64 %.19
  %.22 = load <16 x float>, ptr %.21, align 4
  %.23 = mul i64 %.7, 20
  %.24 = add i64 %.23, %.19
  %.25 = getelementptr inbounds float, ptr %p1, i64 %.24
  %.26 = load <16 x float>, ptr %.25, align 4
  %.27 = fadd contract <16 x float> %.26, %.22
  %.28 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %.27
  %.29 = select <16 x i1> %.28, <16 x float> splat (float 0x0000000000000000), <16 x float> %.27
  %.30 = fcmp uno <16 x float> splat (float 0x0000000000000000), splat (float 0x0000000000000000)
  %.31 = select <16 x i1> %.30, <16 x float> splat (float 0x0000000000000000), <16 x float> %.29
  %.32 = mul i64 %.7, 20
  %.33 = add i64 %.32, %.19
  %.34 = getelementptr inbounds float, ptr %p1, i64 %.33
  store <16 x float> %.31, ptr %.34, align 4
  %.35 = add nsw i64 %.19, 16
  br label %loop.16
done.18:
  %.36 = icmp slt i64 %.15, %.11
  br i1 %.36, label %then.37, label %join.38
then.37:
  %.39 = sub i64 %.11, %.15
  %.40 = trunc i64 %.39 to i32
  %.41 = insertelement <16 x i32> poison, i32 %.40, i32 0
  %.42 = shufflevector <16 x i32> %.41, <16 x i32> poison, <16 x i32> zeroinitializer
  %.43 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.42
  %.44 = getelementptr inbounds float, ptr %p0, i64 %.15
  %.45 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.44, i32 4, <16 x i1> %.43, <16 x float> splat (float 0x0000000000000000))
  %.46 = mul i64 %.7, 20
  %.47 = add i64 %.46, %.15
  %.48 = getelementptr inbounds float, ptr %p1, i64 %.47
  %.49 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.48, i32 4, <16 x i1> %.43, <16 x float> splat (float 0x0000000000000000))
  %.50 = fadd contract <16 x float> %.49, %.45
  %.51 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %.50
  %.52 = select <16 x i1> %.51, <16 x float> splat (float 0x0000000000000000), <16 x float> %.50
  %.53 = fcmp uno <16 x float> splat (float 0x0000000000000000), splat (float 0x0000000000000000)
  %.54 = select <16 x i1> %.53, <16 x float> splat (float 0x0000000000000000), <16 x float> %.52
  %.55 = mul i64 %.7, 20
  %.56 = add i64 %.55, %.15
  %.57 = getelementptr inbounds float, ptr %p1, i64 %.56
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.54, ptr %.57, i32 4, <16 x i1> %.43)
  br label %join.38
join.38:
  %.58 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 40)
  ret void
}
define internal void @dot_general0(ptr %run, ptr %p0, ptr %p1, ptr %p2, ptr %task, ptr %data) ; folded
define internal void @kernel0.rows0(ptr %run, ptr %data, i64 %begin, i64 %end)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %data, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %data, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = icmp sgt i64 1, 40
  %.6 = select i1 %.5, i64 1, i64 40
  %.7 = sdiv i64 40, %.6
  %.8 = mul i64 %begin, %.7
  %.9 = mul i64 %end, %.7
  call void @kernel0(ptr %run, ptr %.2, ptr %.4, i64 %.8, i64 %.9)
  ret void
}
