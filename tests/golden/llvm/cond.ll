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
  %.7 = getelementptr inbounds i8, ptr %.2, i64 0
  %.8 = load i8, ptr %.7, align 1
  %.9 = trunc i8 %.8 to i1
  %.10 = zext i1 %.9 to i64
  switch i64 %.10, label %case.13 [ i64 0, label %case.12 i64 1, label %case.13 ]
case.12:
  call void @kernel0.run(ptr %run, ptr %.4, ptr %.6)
  br label %chosen.11
case.13:
  call void @kernel1.run(ptr %run, ptr %.4, ptr %.6)
  br label %chosen.11
chosen.11:
  %.14 = getelementptr inbounds i64, ptr %run, i64 1
  %.15 = load i64, ptr %.14, align 8
  ret i64 %.15
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
  %.8 = icmp slt i64 40, %.7
  %.9 = select i1 %.8, i64 40, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 32
  %.12 = mul i64 %.11, 32
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.23, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <32 x float>, ptr %.19, align 4
  %.21 = fadd contract <32 x float> %.20, splat (float 0x3FF0000000000000)
  %.22 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <32 x float> %.21, ptr %.22, align 4
  %.23 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.24 = icmp slt i64 %.13, %.9
  br i1 %.24, label %then.25, label %join.26
then.25:
  %.27 = sub i64 %.9, %.13
  %.28 = trunc i64 %.27 to i32
  %.29 = insertelement <32 x i32> poison, i32 %.28, i32 0
  %.30 = shufflevector <32 x i32> %.29, <32 x i32> poison, <32 x i32> zeroinitializer
  %.31 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.30
  %.32 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.33 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.32, i32 4, <32 x i1> %.31, <32 x float> splat (float 0x0000000000000000))
  %.34 = fadd contract <32 x float> %.33, splat (float 0x3FF0000000000000)
  %.35 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.34, ptr %.35, i32 4, <32 x i1> %.31)
  br label %join.26
join.26:
  %.36 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
define internal void @kernel1(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.36, %join.26 ]
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
  %.17 = phi i64 [ %.6, %body.2 ], [ %.23, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <32 x float>, ptr %.19, align 4
  %.21 = fmul contract <32 x float> %.20, splat (float 0x4000000000000000)
  %.22 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <32 x float> %.21, ptr %.22, align 4
  %.23 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.24 = icmp slt i64 %.13, %.9
  br i1 %.24, label %then.25, label %join.26
then.25:
  %.27 = sub i64 %.9, %.13
  %.28 = trunc i64 %.27 to i32
  %.29 = insertelement <32 x i32> poison, i32 %.28, i32 0
  %.30 = shufflevector <32 x i32> %.29, <32 x i32> poison, <32 x i32> zeroinitializer
  %.31 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.30
  %.32 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.33 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.32, i32 4, <32 x i1> %.31, <32 x float> splat (float 0x0000000000000000))
  %.34 = fmul contract <32 x float> %.33, splat (float 0x4000000000000000)
  %.35 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.34, ptr %.35, i32 4, <32 x i1> %.31)
  br label %join.26
join.26:
  %.36 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel1.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel1(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
