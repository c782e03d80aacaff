declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32 immarg, <32 x i1>, <32 x float>)
declare void @llvm.masked.store.v32f32.p0(<32 x float>, ptr, i32 immarg, <32 x i1>)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 192, ptr %.3, align 8
  ret i64 192
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.6 = alloca ptr
  %.8 = alloca i64
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i8, ptr %arena, i64 0
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.5)
  call void @kernel1.run(ptr %run, ptr %.5, ptr %.4)
  store ptr %.4, ptr %.6, align 8
  %.7 = getelementptr inbounds i8, ptr %arena, i64 0
  store i64 0, ptr %.8, align 8
  br label %tight.9
tight.9:
  %.11 = load i64, ptr %.8, align 8
  %.12 = icmp slt i64 %.11, 50
  br i1 %.12, label %next.13, label %end.10
next.13:
  %.14 = mul i64 %.11, 160
  %.15 = getelementptr inbounds i8, ptr %.2, i64 %.14
  %.16 = load ptr, ptr %.6, align 8
  %.17 = load ptr, ptr %.6, align 8
  call void @kernel2.run(ptr %run, ptr %.15, ptr %.17)
  %.18 = add i64 %.11, 1
  store i64 %.18, ptr %.8, align 8
  br label %tight.9
end.10:
  %.19 = load ptr, ptr %.6, align 8
  %.20 = icmp ne ptr %.19, %.4
  br i1 %.20, label %then.21, label %join.22
then.21:
  call void @llvm.memcpy.p0.p0.i64(ptr %.4, ptr %.19, i64 160, i1 false)
  br label %join.22
join.22:
  %.23 = getelementptr inbounds i64, ptr %run, i64 1
  %.24 = load i64, ptr %.23, align 8
  ret i64 %.24
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.36, %join.27 ]
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
  %.19 = phi i64 [ %.8, %body.2 ], [ %.24, %body.17 ]
  %.20 = icmp slt i64 %.19, %.15
  br i1 %.20, label %body.17, label %done.18
body.17:
  %.21 = getelementptr inbounds float, ptr %p0, i64 %.19
  %.22 = load <32 x float>, ptr %.21, align 4
  %.23 = getelementptr inbounds float, ptr %p1, i64 %.19
  store <32 x float> %.22, ptr %.23, align 4
  %.24 = add nsw i64 %.19, 32
  br label %loop.16
done.18:
  %.25 = icmp slt i64 %.15, %.11
  br i1 %.25, label %then.26, label %join.27
then.26:
  %.28 = sub i64 %.11, %.15
  %.29 = trunc i64 %.28 to i32
  %.30 = insertelement <32 x i32> poison, i32 %.29, i32 0
  %.31 = shufflevector <32 x i32> %.30, <32 x i32> poison, <32 x i32> zeroinitializer
  %.32 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.31
  %.33 = getelementptr inbounds float, ptr %p0, i64 %.15
  %.34 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.33, i32 4, <32 x i1> %.32, <32 x float> splat (float 0x0000000000000000))
  %.35 = getelementptr inbounds float, ptr %p1, i64 %.15
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.34, ptr %.35, i32 4, <32 x i1> %.32)
  br label %join.27
join.27:
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
  %.4 = phi i64 [ %begin, %entry ], [ %.34, %join.25 ]
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
  %.17 = phi i64 [ %.6, %body.2 ], [ %.22, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <32 x float>, ptr %.19, align 4
  %.21 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <32 x float> %.20, ptr %.21, align 4
  %.22 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.23 = icmp slt i64 %.13, %.9
  br i1 %.23, label %then.24, label %join.25
then.24:
  %.26 = sub i64 %.9, %.13
  %.27 = trunc i64 %.26 to i32
  %.28 = insertelement <32 x i32> poison, i32 %.27, i32 0
  %.29 = shufflevector <32 x i32> %.28, <32 x i32> poison, <32 x i32> zeroinitializer
  %.30 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.29
  %.31 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.32 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %.31, i32 4, <32 x i1> %.30, <32 x float> splat (float 0x0000000000000000))
  %.33 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v32f32.p0(<32 x float> %.32, ptr %.33, i32 4, <32 x i1> %.30)
  br label %join.25
join.25:
  %.34 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel1.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel1(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
define internal void @kernel2(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.42, %join.29 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 40, %.7
  %.9 = select i1 %.8, i64 40, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 16
  %.12 = mul i64 %.11, 16
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.26, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  %.20 = load <16 x float>, ptr %.19, align 4
  %.21 = getelementptr inbounds float, ptr %p1, i64 %.17
  %.22 = load <16 x float>, ptr %.21, align 4
  %.23 = fadd contract <16 x float> %.22, %.20
  %.24 = call <16 x float> @weft.tanh.v16f32(<16 x float> %.23)
  %.25 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <16 x float> %.24, ptr %.25, align 4
  %.26 = add nsw i64 %.17, 16
  br label %loop.14
done.16:
  %.27 = icmp slt i64 %.13, %.9
  br i1 %.27, label %then.28, label %join.29
then.28:
  %.30 = sub i64 %.9, %.13
  %.31 = trunc i64 %.30 to i32
  %.32 = insertelement <16 x i32> poison, i32 %.31, i32 0
  %.33 = shufflevector <16 x i32> %.32, <16 x i32> poison, <16 x i32> zeroinitializer
  %.34 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.33
  %.35 = getelementptr inbounds float, ptr %p0, i64 %.13
  %.36 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.35, i32 4, <16 x i1> %.34, <16 x float> splat (float 0x0000000000000000))
  %.37 = getelementptr inbounds float, ptr %p1, i64 %.13
  %.38 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.37, i32 4, <16 x i1> %.34, <16 x float> splat (float 0x0000000000000000))
  %.39 = fadd contract <16 x float> %.38, %.36
  %.40 = call <16 x float> @weft.tanh.v16f32(<16 x float> %.39)
  %.41 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.40, ptr %.41, i32 4, <16 x i1> %.34)
  br label %join.29
join.29:
  %.42 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal <16 x float> @weft.tanh.v16f32(<16 x float> %x0) alwaysinline ; folded
define internal void @kernel2.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel2(ptr %run, ptr %p0, ptr %p1, i64 0, i64 1)
  ret void
}
