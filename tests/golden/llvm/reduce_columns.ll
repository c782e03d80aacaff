declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
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
  %.19 = alloca <16 x float>
  %.43 = alloca <16 x float>
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.58, %join.37 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 16
  %.7 = add i64 %.6, 16
  %.8 = icmp slt i64 24, %.7
  %.9 = select i1 %.8, i64 24, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 16
  %.12 = mul i64 %.11, 16
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.34, %done.22 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  store <16 x float> splat (float 0x0000000000000000), ptr %.19, align 4
  br label %loop.20
loop.20:
  %.23 = phi i64 [ 0, %body.15 ], [ %.31, %body.21 ]
  %.24 = icmp slt i64 %.23, 40
  br i1 %.24, label %body.21, label %done.22
body.21:
  %.25 = mul i64 %.23, 24
  %.26 = add i64 %.17, %.25
  %.27 = getelementptr inbounds float, ptr %p0, i64 %.26
  %.28 = load <16 x float>, ptr %.27, align 4
  %.29 = load <16 x float>, ptr %.19, align 4
  %.30 = fadd contract <16 x float> %.29, %.28
  store <16 x float> %.30, ptr %.19, align 4
  %.31 = add nsw i64 %.23, 1
  br label %loop.20
done.22:
  %.32 = load <16 x float>, ptr %.19, align 4
  %.33 = getelementptr inbounds float, ptr %p1, i64 %.17
  store <16 x float> %.32, ptr %.33, align 4
  %.34 = add nsw i64 %.17, 16
  br label %loop.14
done.16:
  %.35 = icmp slt i64 %.13, %.9
  br i1 %.35, label %then.36, label %join.37
then.36:
  %.38 = sub i64 %.9, %.13
  %.39 = trunc i64 %.38 to i32
  %.40 = insertelement <16 x i32> poison, i32 %.39, i32 0
  %.41 = shufflevector <16 x i32> %.40, <16 x i32> poison, <16 x i32> zeroinitializer
  %.42 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.41
  store <16 x float> splat (float 0x0000000000000000), ptr %.43, align 4
  br label %loop.44
loop.44:
  %.47 = phi i64 [ 0, %then.36 ], [ %.55, %body.45 ]
  %.48 = icmp slt i64 %.47, 40
  br i1 %.48, label %body.45, label %done.46
body.45:
  %.49 = mul i64 %.47, 24
  %.50 = add i64 %.13, %.49
  %.51 = getelementptr inbounds float, ptr %p0, i64 %.50
  %.52 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.51, i32 4, <16 x i1> %.42, <16 x float> splat (float 0x0000000000000000))
  %.53 = load <16 x float>, ptr %.43, align 4
  %.54 = fadd contract <16 x float> %.53, %.52
  store <16 x float> %.54, ptr %.43, align 4
  %.55 = add nsw i64 %.47, 1
  br label %loop.44
done.46:
  %.56 = load <16 x float>, ptr %.43, align 4
  %.57 = getelementptr inbounds float, ptr %p1, i64 %.13
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.56, ptr %.57, i32 4, <16 x i1> %.42)
  br label %join.37
join.37:
  %.58 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 2)
  ret void
}
