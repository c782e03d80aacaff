declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32 immarg, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32 immarg, <8 x i1>)
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
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.180, %done.16 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = srem i64 %.4, 1
  %.7 = sdiv i64 %.4, 1
  %.8 = mul i64 %.7, 8
  %.9 = mul i64 %.6, 128
  %.10 = add i64 %.9, 128
  %.11 = icmp slt i64 32, %.10
  %.12 = select i1 %.11, i64 32, i64 %.10
  %.13 = sub i64 24, %.8
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.9, %body.2 ], [ %.179, %join.173 ]
  %.18 = icmp slt i64 %.17, %.12
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = sub i64 %.12, %.17
  %.20 = icmp slt i64 8, %.19
  %.21 = select i1 %.20, i64 8, i64 %.19
  %.22 = trunc i64 %.21 to i32
  %.23 = insertelement <8 x i32> poison, i32 %.22, i32 0
  %.24 = shufflevector <8 x i32> %.23, <8 x i32> poison, <8 x i32> zeroinitializer
  %.25 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.24
  %.26 = icmp slt i64 8, %.13
  %.27 = select i1 %.26, i64 8, i64 %.13
  %.28 = trunc i64 %.27 to i32
  %.29 = insertelement <8 x i32> poison, i32 %.28, i32 0
  %.30 = shufflevector <8 x i32> %.29, <8 x i32> poison, <8 x i32> zeroinitializer
  %.31 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.30
  %.32 = sub i64 %.12, %.17
  %.33 = mul i64 %.17, 24
  %.34 = add i64 %.8, %.33
  %.35 = sub i64 %.32, 1
  %.36 = icmp slt i64 %.35, 0
  %.37 = select i1 %.36, i64 %.35, i64 0
  %.38 = mul i64 %.37, 24
  %.39 = add i64 %.34, %.38
  %.40 = getelementptr inbounds float, ptr %p0, i64 %.39
  %.41 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.40, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.42 = sub i64 %.32, 1
  %.43 = icmp slt i64 %.42, 1
  %.44 = select i1 %.43, i64 %.42, i64 1
  %.45 = mul i64 %.44, 24
  %.46 = add i64 %.34, %.45
  %.47 = getelementptr inbounds float, ptr %p0, i64 %.46
  %.48 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.47, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.49 = sub i64 %.32, 1
  %.50 = icmp slt i64 %.49, 2
  %.51 = select i1 %.50, i64 %.49, i64 2
  %.52 = mul i64 %.51, 24
  %.53 = add i64 %.34, %.52
  %.54 = getelementptr inbounds float, ptr %p0, i64 %.53
  %.55 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.54, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.56 = sub i64 %.32, 1
  %.57 = icmp slt i64 %.56, 3
  %.58 = select i1 %.57, i64 %.56, i64 3
  %.59 = mul i64 %.58, 24
  %.60 = add i64 %.34, %.59
  %.61 = getelementptr inbounds float, ptr %p0, i64 %.60
  %.62 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.61, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.63 = sub i64 %.32, 1
  %.64 = icmp slt i64 %.63, 4
  %.65 = select i1 %.64, i64 %.63, i64 4
  %.66 = mul i64 %.65, 24
  %.67 = add i64 %.34, %.66
  %.68 = getelementptr inbounds float, ptr %p0, i64 %.67
  %.69 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.68, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.70 = sub i64 %.32, 1
  %.71 = icmp slt i64 %.70, 5
  %.72 = select i1 %.71, i64 %.70, i64 5
  %.73 = mul i64 %.72, 24
  %.74 = add i64 %.34, %.73
  %.75 = getelementptr inbounds float, ptr %p0, i64 %.74
  %.76 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.75, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.77 = sub i64 %.32, 1
  %.78 = icmp slt i64 %.77, 6
  %.79 = select i1 %.78, i64 %.77, i64 6
  %.80 = mul i64 %.79, 24
  %.81 = add i64 %.34, %.80
  %.82 = getelementptr inbounds float, ptr %p0, i64 %.81
  %.83 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.82, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.84 = sub i64 %.32, 1
  %.85 = icmp slt i64 %.84, 7
  %.86 = select i1 %.85, i64 %.84, i64 7
  %.87 = mul i64 %.86, 24
  %.88 = add i64 %.34, %.87
  %.89 = getelementptr inbounds float, ptr %p0, i64 %.88
  %.90 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %.89, i32 4, <8 x i1> %.31, <8 x float> splat (float 0x0000000000000000))
  %.91 = shufflevector <8 x float> %.41, <8 x float> %.48, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %.92 = shufflevector <8 x float> %.41, <8 x float> %.48, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %.93 = shufflevector <8 x float> %.55, <8 x float> %.62, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %.94 = shufflevector <8 x float> %.55, <8 x float> %.62, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %.95 = shufflevector <8 x float> %.69, <8 x float> %.76, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %.96 = shufflevector <8 x float> %.69, <8 x float> %.76, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %.97 = shufflevector <8 x float> %.83, <8 x float> %.90, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %.98 = shufflevector <8 x float> %.83, <8 x float> %.90, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %.99 = shufflevector <8 x float> %.91, <8 x float> %.93, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %.100 = shufflevector <8 x float> %.91, <8 x float> %.93, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %.101 = shufflevector <8 x float> %.92, <8 x float> %.94, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %.102 = shufflevector <8 x float> %.92, <8 x float> %.94, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %.103 = shufflevector <8 x float> %.95, <8 x float> %.97, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %.104 = shufflevector <8 x float> %.95, <8 x float> %.97, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %.105 = shufflevector <8 x float> %.96, <8 x float> %.98, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %.106 = shufflevector <8 x float> %.96, <8 x float> %.98, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %.107 = shufflevector <8 x float> %.99, <8 x float> %.103, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %.108 = shufflevector <8 x float> %.99, <8 x float> %.103, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %.109 = shufflevector <8 x float> %.101, <8 x float> %.105, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %.110 = shufflevector <8 x float> %.101, <8 x float> %.105, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %.111 = shufflevector <8 x float> %.100, <8 x float> %.104, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %.112 = shufflevector <8 x float> %.100, <8 x float> %.104, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %.113 = shufflevector <8 x float> %.102, <8 x float> %.106, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %.114 = shufflevector <8 x float> %.102, <8 x float> %.106, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %.115 = icmp sgt i64 %.13, 0
  br i1 %.115, label %then.116, label %join.117
then.116:
  %.118 = add i64 %.8, 0
  %.119 = fadd contract <8 x float> %.107, splat (float 0x3FF0000000000000)
  %.120 = mul i64 %.118, 32
  %.121 = add i64 %.120, %.17
  %.122 = getelementptr inbounds float, ptr %p1, i64 %.121
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.119, ptr %.122, i32 4, <8 x i1> %.25)
  br label %join.117
join.117:
  %.123 = icmp sgt i64 %.13, 1
  br i1 %.123, label %then.124, label %join.125
then.124:
  %.126 = add i64 %.8, 1
  %.127 = fadd contract <8 x float> %.109, splat (float 0x3FF0000000000000)
  %.128 = mul i64 %.126, 32
  %.129 = add i64 %.128, %.17
  %.130 = getelementptr inbounds float, ptr %p1, i64 %.129
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.127, ptr %.130, i32 4, <8 x i1> %.25)
  br label %join.125
join.125:
  %.131 = icmp sgt i64 %.13, 2
  br i1 %.131, label %then.132, label %join.133
then.132:
  %.134 = add i64 %.8, 2
  %.135 = fadd contract <8 x float> %.111, splat (float 0x3FF0000000000000)
  %.136 = mul i64 %.134, 32
  %.137 = add i64 %.136, %.17
  %.138 = getelementptr inbounds float, ptr %p1, i64 %.137
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.135, ptr %.138, i32 4, <8 x i1> %.25)
  br label %join.133
join.133:
  %.139 = icmp sgt i64 %.13, 3
  br i1 %.139, label %then.140, label %join.141
then.140:
  %.142 = add i64 %.8, 3
  %.143 = fadd contract <8 x float> %.113, splat (float 0x3FF0000000000000)
  %.144 = mul i64 %.142, 32
  %.145 = add i64 %.144, %.17
  %.146 = getelementptr inbounds float, ptr %p1, i64 %.145
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.143, ptr %.146, i32 4, <8 x i1> %.25)
  br label %join.141
join.141:
  %.147 = icmp sgt i64 %.13, 4
  br i1 %.147, label %then.148, label %join.149
then.148:
  %.150 = add i64 %.8, 4
  %.151 = fadd contract <8 x float> %.108, splat (float 0x3FF0000000000000)
  %.152 = mul i64 %.150, 32
  %.153 = add i64 %.152, %.17
  %.154 = getelementptr inbounds float, ptr %p1, i64 %.153
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.151, ptr %.154, i32 4, <8 x i1> %.25)
  br label %join.149
join.149:
  %.155 = icmp sgt i64 %.13, 5
  br i1 %.155, label %then.156, label %join.157
then.156:
  %.158 = add i64 %.8, 5
  %.159 = fadd contract <8 x float> %.110, splat (float 0x3FF0000000000000)
  %.160 = mul i64 %.158, 32
  %.161 = add i64 %.160, %.17
  %.162 = getelementptr inbounds float, ptr %p1, i64 %.161
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.159, ptr %.162, i32 4, <8 x i1> %.25)
  br label %join.157
join.157:
  %.163 = icmp sgt i64 %.13, 6
  br i1 %.163, label %then.164, label %join.165
then.164:
  %.166 = add i64 %.8, 6
  %.167 = fadd contract <8 x float> %.112, splat (float 0x3FF0000000000000)
  %.168 = mul i64 %.166, 32
  %.169 = add i64 %.168, %.17
  %.170 = getelementptr inbounds float, ptr %p1, i64 %.169
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.167, ptr %.170, i32 4, <8 x i1> %.25)
  br label %join.165
join.165:
  %.171 = icmp sgt i64 %.13, 7
  br i1 %.171, label %then.172, label %join.173
then.172:
  %.174 = add i64 %.8, 7
  %.175 = fadd contract <8 x float> %.114, splat (float 0x3FF0000000000000)
  %.176 = mul i64 %.174, 32
  %.177 = add i64 %.176, %.17
  %.178 = getelementptr inbounds float, ptr %p1, i64 %.177
  call void @llvm.masked.store.v8f32.p0(<8 x float> %.175, ptr %.178, i32 4, <8 x i1> %.25)
  br label %join.173
join.173:
  %.179 = add nsw i64 %.17, 8
  br label %loop.14
done.16:
  %.180 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 3)
  ret void
}
