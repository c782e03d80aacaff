declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare float @llvm.sqrt.f32(float)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 320, ptr %.3, align 8
  ret i64 320
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.7 = alloca [4 x i64], align 8
  %.1 = getelementptr inbounds i8, ptr %arena, i64 0
  %.2 = getelementptr inbounds i64, ptr %run, i64 13
  %.3 = load i64, ptr %.2, align 8
  %.4 = getelementptr inbounds i8, ptr %arena, i64 %.3
  %.5 = getelementptr inbounds i64, ptr %run, i64 0
  %.6 = load i64, ptr %.5, align 8
  %.8 = getelementptr inbounds i64, ptr %.7, i64 0
  store ptr %.1, ptr %.8, align 8
  %.9 = getelementptr inbounds i64, ptr %.7, i64 1
  store ptr %.1, ptr %.9, align 8
  %.10 = getelementptr inbounds i64, ptr %.7, i64 2
  store ptr %.4, ptr %.10, align 8
  %.11 = getelementptr inbounds i64, ptr %.7, i64 3
  store i64 %.6, ptr %.11, align 8
  %.12 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.13 = load ptr, ptr %.12, align 8
  %.14 = getelementptr inbounds i64, ptr %arguments, i64 1
  %.15 = load ptr, ptr %.14, align 8
  %.16 = getelementptr inbounds i64, ptr %results, i64 0
  %.17 = load ptr, ptr %.16, align 8
  call void @kernel0.run(ptr %run, ptr %.13, ptr %.15, ptr %.17, float 0x4044000000000000, float 0x4044000000000000, float 0x3EE4F8B580000000, ptr %.7)
  %.18 = getelementptr inbounds i64, ptr %run, i64 1
  %.19 = load i64, ptr %.18, align 8
  %.20 = icmp eq i64 %.19, -4
  br i1 %.20, label %no.memory, label %next.21, !prof !{!"branch_weights", i32 1, i32 2000}
next.21:
  %.22 = getelementptr inbounds i64, ptr %run, i64 1
  %.23 = load i64, ptr %.22, align 8
  ret i64 %.23
no.memory:
  ret i64 zeroinitializer
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, float %a0.0, float %a1.0, float %a2.0, ptr noalias %flags, ptr noalias %room, i64 %slots, i64 %slot_bytes, i64 %begin, i64 %end)  {
entry:
  %.1 = alloca i64
  %.2 = alloca i64
  %.24 = alloca [4 x i64], align 8
  %.30 = alloca ptr
  store ptr null, ptr %.30, align 8
  %.38 = alloca <16 x float>
  %.84 = alloca <16 x float>
  store i64 0, ptr %.1, align 8
  store i64 0, ptr %.2, align 8
  br label %while.3
while.3:
  %.5 = getelementptr inbounds i64, ptr %run, i64 1
  %.6 = load i64, ptr %.5, align 8
  %.7 = icmp eq i64 %.6, -4
  br i1 %.7, label %no.memory, label %next.8, !prof !{!"branch_weights", i32 1, i32 2000}
next.8:
  %.9 = load i64, ptr %.1, align 8
  %.10 = getelementptr inbounds i64, ptr %flags, i64 %.9
  %.11 = cmpxchg ptr %.10, i64 0, i64 1 seq_cst seq_cst
  %.12 = extractvalue { i64, i1 } %.11, 1
  %.13 = zext i1 %.12 to i64
  store i64 %.13, ptr %.2, align 8
  %.14 = load i64, ptr %.2, align 8
  %.15 = icmp ne i64 %.14, 0
  br i1 %.15, label %end.4, label %next.16
next.16:
  %.17 = load i64, ptr %.1, align 8
  %.18 = add i64 %.17, 1
  %.19 = srem i64 %.18, %slots
  store i64 %.19, ptr %.1, align 8
  br label %while.3
end.4:
  %.20 = load i64, ptr %.1, align 8
  %.21 = mul i64 %.20, %slot_bytes
  %.22 = getelementptr inbounds i8, ptr %room, i64 %.21
  %.23 = getelementptr inbounds i8, ptr %.22, i64 %slot_bytes
  %.25 = getelementptr inbounds i64, ptr %.24, i64 0
  store ptr %.22, ptr %.25, align 8
  %.26 = getelementptr inbounds i64, ptr %.24, i64 1
  store ptr %.22, ptr %.26, align 8
  %.27 = getelementptr inbounds i64, ptr %.24, i64 2
  store ptr %.23, ptr %.27, align 8
  %.28 = getelementptr inbounds i64, ptr %.24, i64 3
  store i64 1, ptr %.28, align 8
  %.29 = call ptr @weft.take.planned(ptr %run, ptr %.24, i64 224)
  %.31 = icmp eq ptr %.29, null
  br i1 %.31, label %no.memory, label %next.32, !prof !{!"branch_weights", i32 1, i32 2000}
next.32:
  store ptr %.29, ptr %.30, align 8
  br label %loop.33
loop.33:
  %.36 = phi i64 [ %begin, %next.32 ], [ %.192, %join.173 ]
  %.37 = icmp slt i64 %.36, %end
  br i1 %.37, label %body.34, label %done.35
body.34:
  store <16 x float> splat (float 0x0000000000000000), ptr %.38, align 4
  %.39 = sub i64 40, 0
  %.40 = sdiv i64 %.39, 16
  %.41 = mul i64 %.40, 16
  %.42 = add i64 0, %.41
  br label %loop.43
loop.43:
  %.46 = phi i64 [ 0, %body.34 ], [ %.54, %body.44 ]
  %.47 = icmp slt i64 %.46, %.42
  br i1 %.47, label %body.44, label %done.45
body.44:
  %.48 = mul i64 %.36, 40
  %.49 = add i64 %.48, %.46
  %.50 = getelementptr inbounds float, ptr %p0, i64 %.49
  %.51 = load <16 x float>, ptr %.50, align 4
  %.52 = load <16 x float>, ptr %.38, align 4
  %.53 = fadd contract <16 x float> %.52, %.51
  store <16 x float> %.53, ptr %.38, align 4
  %.54 = add nsw i64 %.46, 16
  br label %loop.43
done.45:
  %.55 = icmp slt i64 %.42, 40
  br i1 %.55, label %then.56, label %join.57
then.56:
  %.58 = sub i64 40, %.42
  %.59 = trunc i64 %.58 to i32
  %.60 = insertelement <16 x i32> poison, i32 %.59, i32 0
  %.61 = shufflevector <16 x i32> %.60, <16 x i32> poison, <16 x i32> zeroinitializer
  %.62 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.61
  %.63 = mul i64 %.36, 40
  %.64 = add i64 %.63, %.42
  %.65 = getelementptr inbounds float, ptr %p0, i64 %.64
  %.66 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.65, i32 4, <16 x i1> %.62, <16 x float> splat (float 0x0000000000000000))
  %.67 = load <16 x float>, ptr %.38, align 4
  %.68 = fadd contract <16 x float> %.67, %.66
  %.69 = select <16 x i1> %.62, <16 x float> %.68, <16 x float> %.67
  store <16 x float> %.69, ptr %.38, align 4
  br label %join.57
join.57:
  %.70 = load <16 x float>, ptr %.38, align 4
  %.71 = shufflevector <16 x float> %.70, <16 x float> %.70, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.72 = shufflevector <16 x float> %.70, <16 x float> %.70, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.73 = fadd contract <8 x float> %.71, %.72
  %.74 = shufflevector <8 x float> %.73, <8 x float> %.73, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.75 = shufflevector <8 x float> %.73, <8 x float> %.73, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.76 = fadd contract <4 x float> %.74, %.75
  %.77 = shufflevector <4 x float> %.76, <4 x float> %.76, <2 x i32> <i32 0, i32 1>
  %.78 = shufflevector <4 x float> %.76, <4 x float> %.76, <2 x i32> <i32 2, i32 3>
  %.79 = fadd contract <2 x float> %.77, %.78
  %.80 = shufflevector <2 x float> %.79, <2 x float> %.79, <1 x i32> <i32 0>
  %.81 = shufflevector <2 x float> %.79, <2 x float> %.79, <1 x i32> <i32 1>
  %.82 = fadd contract <1 x float> %.80, %.81
  %.83 = extractelement <1 x float> %.82, i32 0
  store <16 x float> splat (float 0x0000000000000000), ptr %.84, align 4
  %.85 = fdiv float %.83, %a0.0
  %.86 = sub i64 40, 0
  %.87 = sdiv i64 %.86, 16
  %.88 = mul i64 %.87, 16
  %.89 = add i64 0, %.88
  br label %loop.90
loop.90:
  %.93 = phi i64 [ 0, %join.57 ], [ %.108, %body.91 ]
  %.94 = icmp slt i64 %.93, %.89
  br i1 %.94, label %body.91, label %done.92
body.91:
  %.95 = mul i64 %.36, 40
  %.96 = add i64 %.95, %.93
  %.97 = getelementptr inbounds float, ptr %p0, i64 %.96
  %.98 = load <16 x float>, ptr %.97, align 4
  %.99 = insertelement <16 x float> poison, float %.85, i32 0
  %.100 = shufflevector <16 x float> %.99, <16 x float> poison, <16 x i32> zeroinitializer
  %.101 = fsub contract <16 x float> %.98, %.100
  %.102 = mul i64 0, 40
  %.103 = add i64 %.102, %.93
  %.104 = getelementptr inbounds float, ptr %.29, i64 %.103
  store <16 x float> %.101, ptr %.104, align 4
  %.105 = fmul contract <16 x float> %.101, %.101
  %.106 = load <16 x float>, ptr %.84, align 4
  %.107 = fadd contract <16 x float> %.106, %.105
  store <16 x float> %.107, ptr %.84, align 4
  %.108 = add nsw i64 %.93, 16
  br label %loop.90
done.92:
  %.109 = icmp slt i64 %.89, 40
  br i1 %.109, label %then.110, label %join.111
then.110:
  %.112 = sub i64 40, %.89
  %.113 = trunc i64 %.112 to i32
  %.114 = insertelement <16 x i32> poison, i32 %.113, i32 0
  %.115 = shufflevector <16 x i32> %.114, <16 x i32> poison, <16 x i32> zeroinitializer
  %.116 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.115
  %.117 = mul i64 %.36, 40
  %.118 = add i64 %.117, %.89
  %.119 = getelementptr inbounds float, ptr %p0, i64 %.118
  %.120 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.119, i32 4, <16 x i1> %.116, <16 x float> splat (float 0x0000000000000000))
  %.121 = insertelement <16 x float> poison, float %.85, i32 0
  %.122 = shufflevector <16 x float> %.121, <16 x float> poison, <16 x i32> zeroinitializer
  %.123 = fsub contract <16 x float> %.120, %.122
  %.124 = mul i64 0, 40
  %.125 = add i64 %.124, %.89
  %.126 = getelementptr inbounds float, ptr %.29, i64 %.125
  store <16 x float> %.123, ptr %.126, align 4
  %.127 = fmul contract <16 x float> %.123, %.123
  %.128 = load <16 x float>, ptr %.84, align 4
  %.129 = fadd contract <16 x float> %.128, %.127
  %.130 = select <16 x i1> %.116, <16 x float> %.129, <16 x float> %.128
  store <16 x float> %.130, ptr %.84, align 4
  br label %join.111
join.111:
  %.131 = load <16 x float>, ptr %.84, align 4
  %.132 = shufflevector <16 x float> %.131, <16 x float> %.131, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.133 = shufflevector <16 x float> %.131, <16 x float> %.131, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.134 = fadd contract <8 x float> %.132, %.133
  %.135 = shufflevector <8 x float> %.134, <8 x float> %.134, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.136 = shufflevector <8 x float> %.134, <8 x float> %.134, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.137 = fadd contract <4 x float> %.135, %.136
  %.138 = shufflevector <4 x float> %.137, <4 x float> %.137, <2 x i32> <i32 0, i32 1>
  %.139 = shufflevector <4 x float> %.137, <4 x float> %.137, <2 x i32> <i32 2, i32 3>
  %.140 = fadd contract <2 x float> %.138, %.139
  %.141 = shufflevector <2 x float> %.140, <2 x float> %.140, <1 x i32> <i32 0>
  %.142 = shufflevector <2 x float> %.140, <2 x float> %.140, <1 x i32> <i32 1>
  %.143 = fadd contract <1 x float> %.141, %.142
  %.144 = extractelement <1 x float> %.143, i32 0
  %.145 = fdiv float %.144, %a1.0
  %.146 = fadd contract float %.145, %a2.0
  %.147 = call float @weft.sqrt.f32(float %.146)
  %.148 = sub i64 40, 0
  %.149 = sdiv i64 %.148, 16
  %.150 = mul i64 %.149, 16
  %.151 = add i64 0, %.150
  br label %loop.152
loop.152:
  %.155 = phi i64 [ 0, %join.111 ], [ %.170, %body.153 ]
  %.156 = icmp slt i64 %.155, %.151
  br i1 %.156, label %body.153, label %done.154
body.153:
  %.157 = mul i64 0, 40
  %.158 = add i64 %.157, %.155
  %.159 = getelementptr inbounds float, ptr %.29, i64 %.158
  %.160 = load <16 x float>, ptr %.159, align 4
  %.161 = getelementptr inbounds float, ptr %p1, i64 %.155
  %.162 = load <16 x float>, ptr %.161, align 4
  %.163 = fmul contract <16 x float> %.162, %.160
  %.164 = insertelement <16 x float> poison, float %.147, i32 0
  %.165 = shufflevector <16 x float> %.164, <16 x float> poison, <16 x i32> zeroinitializer
  %.166 = fdiv <16 x float> %.163, %.165
  %.167 = mul i64 %.36, 40
  %.168 = add i64 %.167, %.155
  %.169 = getelementptr inbounds float, ptr %p2, i64 %.168
  store <16 x float> %.166, ptr %.169, align 4
  %.170 = add nsw i64 %.155, 16
  br label %loop.152
done.154:
  %.171 = icmp slt i64 %.151, 40
  br i1 %.171, label %then.172, label %join.173
then.172:
  %.174 = sub i64 40, %.151
  %.175 = trunc i64 %.174 to i32
  %.176 = insertelement <16 x i32> poison, i32 %.175, i32 0
  %.177 = shufflevector <16 x i32> %.176, <16 x i32> poison, <16 x i32> zeroinitializer
  %.178 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.177
  %.179 = mul i64 0, 40
  %.180 = add i64 %.179, %.151
  %.181 = getelementptr inbounds float, ptr %.29, i64 %.180
  %.182 = load <16 x float>, ptr %.181, align 4
  %.183 = getelementptr inbounds float, ptr %p1, i64 %.151
  %.184 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.183, i32 4, <16 x i1> %.178, <16 x float> splat (float 0x0000000000000000))
  %.185 = fmul contract <16 x float> %.184, %.182
  %.186 = insertelement <16 x float> poison, float %.147, i32 0
  %.187 = shufflevector <16 x float> %.186, <16 x float> poison, <16 x i32> zeroinitializer
  %.188 = fdiv <16 x float> %.185, %.187
  %.189 = mul i64 %.36, 40
  %.190 = add i64 %.189, %.151
  %.191 = getelementptr inbounds float, ptr %p2, i64 %.190
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.188, ptr %.191, i32 4, <16 x i1> %.178)
  br label %join.173
join.173:
  %.192 = add nsw i64 %.36, 1
  br label %loop.33
done.35:
  %.193 = getelementptr inbounds i64, ptr %flags, i64 %.20
  store atomic i64 0, ptr %.193 seq_cst, align 8
  ret void
no.memory:
  %held.0 = load ptr, ptr %.30, align 8
  call void @weft.give.back(ptr %.24, ptr %held.0)
  ret void
}
define internal ptr @weft.take(ptr %run, i64 %bytes) ; folded
define internal ptr @weft.take.planned(ptr %run, ptr %planned, i64 %bytes) ; folded
define internal void @weft.give.back(ptr %planned, ptr %pointer) ; folded
define internal float @weft.sqrt.f32(float %x0) alwaysinline ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2, float %a0.0, float %a1.0, float %a2.0, ptr %scratch)  {
entry:
  %.16 = alloca ptr
  store ptr null, ptr %.16, align 8
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = getelementptr inbounds i64, ptr %scratch, i64 3
  %.3 = icmp ne ptr %scratch, null
  %.4 = select i1 %.3, ptr %.2, ptr %.1
  %.5 = load i64, ptr %.4, align 8
  %.6 = icmp slt i64 1, %.5
  %.7 = select i1 %.6, i64 1, i64 %.5
  %.8 = icmp sgt i64 1, %.7
  %.9 = select i1 %.8, i64 1, i64 %.7
  %.10 = mul i64 %.9, 8
  %.11 = add i64 %.10, 63
  %.12 = and i64 %.11, -64
  %.13 = mul i64 %.9, 256
  %.14 = add i64 %.12, %.13
  %.15 = call ptr @weft.take.planned(ptr %run, ptr %scratch, i64 %.14)
  %.17 = icmp eq ptr %.15, null
  br i1 %.17, label %no.memory, label %next.18, !prof !{!"branch_weights", i32 1, i32 2000}
next.18:
  store ptr %.15, ptr %.16, align 8
  br label %loop.19
loop.19:
  %.22 = phi i64 [ 0, %next.18 ], [ %.25, %body.20 ]
  %.23 = icmp slt i64 %.22, %.9
  br i1 %.23, label %body.20, label %done.21
body.20:
  %.24 = getelementptr inbounds i64, ptr %.15, i64 %.22
  store i64 0, ptr %.24, align 8
  %.25 = add nsw i64 %.22, 1
  br label %loop.19
done.21:
  %.26 = getelementptr inbounds i8, ptr %.15, i64 %.12
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, float %a0.0, float %a1.0, float %a2.0, ptr %.15, ptr %.26, i64 %.9, i64 256, i64 0, i64 6)
  %.27 = load ptr, ptr %.16, align 8
  %.28 = icmp eq ptr %.27, %.15
  %.29 = select i1 %.28, ptr null, ptr %.27
  store ptr %.29, ptr %.16, align 8
  call void @weft.give.back(ptr %scratch, ptr %.15)
  ret void
no.memory:
  %held.0 = load ptr, ptr %.16, align 8
  call void @weft.give.back(ptr %scratch, ptr %held.0)
  ret void
}
