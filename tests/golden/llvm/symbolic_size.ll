declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32 immarg, <32 x i1>, <32 x float>)
declare void @llvm.masked.store.v32f32.p0(<32 x float>, ptr, i32 immarg, <32 x i1>)
declare void @weft_parallel(ptr, ptr, ptr, i64, i64)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %numbers, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 0
  %.4 = load i64, ptr %.3, align 8
  %.5 = sitofp i64 %.2 to double
  %.6 = fmul contract double 0x4010000000000000, %.5
  %.7 = fadd contract double 0x0000000000000000, %.6
  %.8 = fcmp ogt double %.7, 0x43D0000000000000
  %.9 = select i1 %.8, i64 4611686018427387904, i64 0
  %.10 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 %.9, ptr %.10, align 8
  ret i64 %.9
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
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %s.n, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.38, %join.28 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = add i64 %s.n, 4095
  %.7 = ashr i64 %.6, 12
  %.8 = mul i64 %.4, 4096
  %.9 = add i64 %.8, 4096
  %.10 = icmp slt i64 %s.n, %.9
  %.11 = select i1 %.10, i64 %s.n, i64 %.9
  %.12 = sub i64 %.11, %.8
  %.13 = sdiv i64 %.12, 32
  %.14 = mul i64 %.13, 32
  %.15 = add i64 %.8, %.14
  br label %loop.16
loop.16:
  %.19 = phi i64 [ %.8, %body.2 ], [ %.25, %body.17 ]
  %.20 = icmp slt i64 %.19, %.15
  br i1 %.20, label %body.17, label %done.18
body.17:
  %.21 = getelementptr inbounds float, ptr %p0, i64 %.19
  %.22 = load <32 x float>, ptr %.21, align 4
  %.23 = fmul contract <32 x float> %.22, splat (float 0x4000000000000000)
  %.24 = getelementptr inbounds float, ptr %p1, i64 %.19
  store <32 x float> %.23, ptr %.24, align 4
  %.25 = add nsw i64 %.19, 32
  br label %loop.16
done.18:
  %.26 = icmp slt i64 %.15, %.11
  br i1 %.26, label %then.27, label %join.28
then.27:
  %.29 = sub i64 %.11, %.15
  %.30 = trunc i64 %.29 to i32
  %.31 = insertelement <32 x i32> poison, i32 %.30, i32 0
  %.32 = shufflevector <32 x i32> %.31, <32 x i32> poison, <32 x i32> zeroinitializer
  %.33 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.32
  %.34 = getelementptr inbounds float, ptr %p0, i64 %.15
  %.35 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.34, i32 4, <32 x i1> %.33, <32 x float> splat (float 0x0000000000000000))
  %.36 = fmul contract <32 x float> %.35, splat (float 0x4000000000000000)
  %.37 = getelementptr inbounds float, ptr %p1, i64 %.15
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.36, ptr %.37, i32 4, <32 x i1> %.33)
  br label %join.28
join.28:
  %.38 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, i64 %s.n)  {
entry:
  %.15 = alloca [3 x i64], align 8
  %.1 = add i64 %s.n, 4095
  %.2 = ashr i64 %.1, 12
  %.3 = icmp slt i64 %s.n, 131072
  br i1 %.3, label %then.4, label %else.5
then.4:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 %s.n, i64 0, i64 %.2)
  br label %join.6
else.5:
  %.7 = icmp sgt i64 1, %.2
  %.8 = select i1 %.7, i64 1, i64 %.2
  %.9 = sdiv i64 %s.n, %.8
  %.10 = icmp sgt i64 1, %.9
  %.11 = select i1 %.10, i64 1, i64 %.9
  %.12 = sdiv i64 32768, %.11
  %.13 = icmp sgt i64 1, %.12
  %.14 = select i1 %.13, i64 1, i64 %.12
  %.16 = getelementptr inbounds i64, ptr %.15, i64 0
  store ptr %p0, ptr %.16, align 8
  %.17 = getelementptr inbounds i64, ptr %.15, i64 1
  store ptr %p1, ptr %.17, align 8
  %.18 = getelementptr inbounds i64, ptr %.15, i64 2
  store i64 %s.n, ptr %.18, align 8
  call void @weft_parallel(ptr %run, ptr @kernel0.task, ptr %.15, i64 %.2, i64 %.14)
  br label %join.6
join.6:
  ret void
}
define internal void @kernel0.task(ptr %run, ptr %data, i64 %begin, i64 %end)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %data, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %data, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %data, i64 2
  %.6 = load i64, ptr %.5, align 8
  call void @kernel0(ptr %run, ptr %.2, ptr %.4, i64 %.6, i64 %begin, i64 %end)
  ret void
}
