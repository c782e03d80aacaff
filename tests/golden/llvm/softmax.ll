declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
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
  %.14 = getelementptr inbounds i64, ptr %results, i64 0
  %.15 = load ptr, ptr %.14, align 8
  call void @kernel0.run(ptr %run, ptr %.13, ptr %.15, ptr %.7)
  %.16 = getelementptr inbounds i64, ptr %run, i64 1
  %.17 = load i64, ptr %.16, align 8
  %.18 = icmp eq i64 %.17, -4
  br i1 %.18, label %no.memory, label %next.19, !prof !{!"branch_weights", i32 1, i32 2000}
next.19:
  %.20 = getelementptr inbounds i64, ptr %run, i64 1
  %.21 = load i64, ptr %.20, align 8
  ret i64 %.21
no.memory:
  ret i64 zeroinitializer
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %flags, ptr noalias %room, i64 %slots, i64 %slot_bytes, i64 %begin, i64 %end)  {
entry:
  %.1 = alloca i64
  %.2 = alloca i64
  %.24 = alloca [4 x i64], align 8
  %.30 = alloca ptr
  store ptr null, ptr %.30, align 8
  %.38 = alloca <16 x float>
  %.102 = alloca <16 x float>
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
  %.36 = phi i64 [ %begin, %next.32 ], [ %.200, %join.184 ]
  %.37 = icmp slt i64 %.36, %end
  br i1 %.37, label %body.34, label %done.35
body.34:
  store <16 x float> splat (float 0xFFF0000000000000), ptr %.38, align 4
  %.39 = sub i64 40, 0
  %.40 = sdiv i64 %.39, 16
  %.41 = mul i64 %.40, 16
  %.42 = add i64 0, %.41
  br label %loop.43
loop.43:
  %.46 = phi i64 [ 0, %body.34 ], [ %.57, %body.44 ]
  %.47 = icmp slt i64 %.46, %.42
  br i1 %.47, label %body.44, label %done.45
body.44:
  %.48 = mul i64 %.36, 40
  %.49 = add i64 %.48, %.46
  %.50 = getelementptr inbounds float, ptr %p0, i64 %.49
  %.51 = load <16 x float>, ptr %.50, align 4
  %.52 = load <16 x float>, ptr %.38, align 4
  %.53 = fcmp ogt <16 x float> %.51, %.52
  %.54 = select <16 x i1> %.53, <16 x float> %.51, <16 x float> %.52
  %.55 = fcmp uno <16 x float> %.51, %.51
  %.56 = select <16 x i1> %.55, <16 x float> %.51, <16 x float> %.54
  store <16 x float> %.56, ptr %.38, align 4
  %.57 = add nsw i64 %.46, 16
  br label %loop.43
done.45:
  %.58 = icmp slt i64 %.42, 40
  br i1 %.58, label %then.59, label %join.60
then.59:
  %.61 = sub i64 40, %.42
  %.62 = trunc i64 %.61 to i32
  %.63 = insertelement <16 x i32> poison, i32 %.62, i32 0
  %.64 = shufflevector <16 x i32> %.63, <16 x i32> poison, <16 x i32> zeroinitializer
  %.65 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.64
  %.66 = mul i64 %.36, 40
  %.67 = add i64 %.66, %.42
  %.68 = getelementptr inbounds float, ptr %p0, i64 %.67
  %.69 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.68, i32 4, <16 x i1> %.65, <16 x float> splat (float 0x0000000000000000))
  %.70 = load <16 x float>, ptr %.38, align 4
  %.71 = fcmp ogt <16 x float> %.69, %.70
  %.72 = select <16 x i1> %.71, <16 x float> %.69, <16 x float> %.70
  %.73 = fcmp uno <16 x float> %.69, %.69
  %.74 = select <16 x i1> %.73, <16 x float> %.69, <16 x float> %.72
  %.75 = select <16 x i1> %.65, <16 x float> %.74, <16 x float> %.70
  store <16 x float> %.75, ptr %.38, align 4
  br label %join.60
join.60:
  %.76 = load <16 x float>, ptr %.38, align 4
  %.77 = shufflevector <16 x float> %.76, <16 x float> %.76, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.78 = shufflevector <16 x float> %.76, <16 x float> %.76, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.79 = fcmp ogt <8 x float> %.78, %.77
  %.80 = select <8 x i1> %.79, <8 x float> %.78, <8 x float> %.77
  %.81 = fcmp uno <8 x float> %.78, %.78
  %.82 = select <8 x i1> %.81, <8 x float> %.78, <8 x float> %.80
  %.83 = shufflevector <8 x float> %.82, <8 x float> %.82, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.84 = shufflevector <8 x float> %.82, <8 x float> %.82, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.85 = fcmp ogt <4 x float> %.84, %.83
  %.86 = select <4 x i1> %.85, <4 x float> %.84, <4 x float> %.83
  %.87 = fcmp uno <4 x float> %.84, %.84
  %.88 = select <4 x i1> %.87, <4 x float> %.84, <4 x float> %.86
  %.89 = shufflevector <4 x float> %.88, <4 x float> %.88, <2 x i32> <i32 0, i32 1>
  %.90 = shufflevector <4 x float> %.88, <4 x float> %.88, <2 x i32> <i32 2, i32 3>
  %.91 = fcmp ogt <2 x float> %.90, %.89
  %.92 = select <2 x i1> %.91, <2 x float> %.90, <2 x float> %.89
  %.93 = fcmp uno <2 x float> %.90, %.90
  %.94 = select <2 x i1> %.93, <2 x float> %.90, <2 x float> %.92
  %.95 = shufflevector <2 x float> %.94, <2 x float> %.94, <1 x i32> <i32 0>
  %.96 = shufflevector <2 x float> %.94, <2 x float> %.94, <1 x i32> <i32 1>
  %.97 = fcmp ogt <1 x float> %.96, %.95
  %.98 = select <1 x i1> %.97, <1 x float> %.96, <1 x float> %.95
  %.99 = fcmp uno <1 x float> %.96, %.96
  %.100 = select <1 x i1> %.99, <1 x float> %.96, <1 x float> %.98
  %.101 = extractelement <1 x float> %.100, i32 0
  store <16 x float> splat (float 0x0000000000000000), ptr %.102, align 4
  %.103 = sub i64 40, 0
  %.104 = sdiv i64 %.103, 16
  %.105 = mul i64 %.104, 16
  %.106 = add i64 0, %.105
  br label %loop.107
loop.107:
  %.110 = phi i64 [ 0, %join.60 ], [ %.125, %body.108 ]
  %.111 = icmp slt i64 %.110, %.106
  br i1 %.111, label %body.108, label %done.109
body.108:
  %.112 = mul i64 %.36, 40
  %.113 = add i64 %.112, %.110
  %.114 = getelementptr inbounds float, ptr %p0, i64 %.113
  %.115 = load <16 x float>, ptr %.114, align 4
  %.116 = insertelement <16 x float> poison, float %.101, i32 0
  %.117 = shufflevector <16 x float> %.116, <16 x float> poison, <16 x i32> zeroinitializer
  %.118 = fsub contract <16 x float> %.115, %.117
  %.119 = call <16 x float> @weft.exp.v16f32(<16 x float> %.118)
  %.120 = mul i64 0, 40
  %.121 = add i64 %.120, %.110
  %.122 = getelementptr inbounds float, ptr %.29, i64 %.121
  store <16 x float> %.119, ptr %.122, align 4
  %.123 = load <16 x float>, ptr %.102, align 4
  %.124 = fadd contract <16 x float> %.123, %.119
  store <16 x float> %.124, ptr %.102, align 4
  %.125 = add nsw i64 %.110, 16
  br label %loop.107
done.109:
  %.126 = icmp slt i64 %.106, 40
  br i1 %.126, label %then.127, label %join.128
then.127:
  %.129 = sub i64 40, %.106
  %.130 = trunc i64 %.129 to i32
  %.131 = insertelement <16 x i32> poison, i32 %.130, i32 0
  %.132 = shufflevector <16 x i32> %.131, <16 x i32> poison, <16 x i32> zeroinitializer
  %.133 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.132
  %.134 = mul i64 %.36, 40
  %.135 = add i64 %.134, %.106
  %.136 = getelementptr inbounds float, ptr %p0, i64 %.135
  %.137 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.136, i32 4, <16 x i1> %.133, <16 x float> splat (float 0x0000000000000000))
  %.138 = insertelement <16 x float> poison, float %.101, i32 0
  %.139 = shufflevector <16 x float> %.138, <16 x float> poison, <16 x i32> zeroinitializer
  %.140 = fsub contract <16 x float> %.137, %.139
  %.141 = call <16 x float> @weft.exp.v16f32(<16 x float> %.140)
  %.142 = mul i64 0, 40
  %.143 = add i64 %.142, %.106
  %.144 = getelementptr inbounds float, ptr %.29, i64 %.143
  store <16 x float> %.141, ptr %.144, align 4
  %.145 = load <16 x float>, ptr %.102, align 4
  %.146 = fadd contract <16 x float> %.145, %.141
  %.147 = select <16 x i1> %.133, <16 x float> %.146, <16 x float> %.145
  store <16 x float> %.147, ptr %.102, align 4
  br label %join.128
join.128:
  %.148 = load <16 x float>, ptr %.102, align 4
  %.149 = shufflevector <16 x float> %.148, <16 x float> %.148, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.150 = shufflevector <16 x float> %.148, <16 x float> %.148, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.151 = fadd contract <8 x float> %.149, %.150
  %.152 = shufflevector <8 x float> %.151, <8 x float> %.151, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.153 = shufflevector <8 x float> %.151, <8 x float> %.151, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.154 = fadd contract <4 x float> %.152, %.153
  %.155 = shufflevector <4 x float> %.154, <4 x float> %.154, <2 x i32> <i32 0, i32 1>
  %.156 = shufflevector <4 x float> %.154, <4 x float> %.154, <2 x i32> <i32 2, i32 3>
  %.157 = fadd contract <2 x float> %.155, %.156
  %.158 = shufflevector <2 x float> %.157, <2 x float> %.157, <1 x i32> <i32 0>
  %.159 = shufflevector <2 x float> %.157, <2 x float> %.157, <1 x i32> <i32 1>
  %.160 = fadd contract <1 x float> %.158, %.159
  %.161 = extractelement <1 x float> %.160, i32 0
  %.162 = sub i64 40, 0
  %.163 = sdiv i64 %.162, 16
  %.164 = mul i64 %.163, 16
  %.165 = add i64 0, %.164
  br label %loop.166
loop.166:
  %.169 = phi i64 [ 0, %join.128 ], [ %.181, %body.167 ]
  %.170 = icmp slt i64 %.169, %.165
  br i1 %.170, label %body.167, label %done.168
body.167:
  %.171 = mul i64 0, 40
  %.172 = add i64 %.171, %.169
  %.173 = getelementptr inbounds float, ptr %.29, i64 %.172
  %.174 = load <16 x float>, ptr %.173, align 4
  %.175 = insertelement <16 x float> poison, float %.161, i32 0
  %.176 = shufflevector <16 x float> %.175, <16 x float> poison, <16 x i32> zeroinitializer
  %.177 = fdiv <16 x float> %.174, %.176
  %.178 = mul i64 %.36, 40
  %.179 = add i64 %.178, %.169
  %.180 = getelementptr inbounds float, ptr %p1, i64 %.179
  store <16 x float> %.177, ptr %.180, align 4
  %.181 = add nsw i64 %.169, 16
  br label %loop.166
done.168:
  %.182 = icmp slt i64 %.165, 40
  br i1 %.182, label %then.183, label %join.184
then.183:
  %.185 = sub i64 40, %.165
  %.186 = trunc i64 %.185 to i32
  %.187 = insertelement <16 x i32> poison, i32 %.186, i32 0
  %.188 = shufflevector <16 x i32> %.187, <16 x i32> poison, <16 x i32> zeroinitializer
  %.189 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.188
  %.190 = mul i64 0, 40
  %.191 = add i64 %.190, %.165
  %.192 = getelementptr inbounds float, ptr %.29, i64 %.191
  %.193 = load <16 x float>, ptr %.192, align 4
  %.194 = insertelement <16 x float> poison, float %.161, i32 0
  %.195 = shufflevector <16 x float> %.194, <16 x float> poison, <16 x i32> zeroinitializer
  %.196 = fdiv <16 x float> %.193, %.195
  %.197 = mul i64 %.36, 40
  %.198 = add i64 %.197, %.165
  %.199 = getelementptr inbounds float, ptr %p1, i64 %.198
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.196, ptr %.199, i32 4, <16 x i1> %.189)
  br label %join.184
join.184:
  %.200 = add nsw i64 %.36, 1
  br label %loop.33
done.35:
  %.201 = getelementptr inbounds i64, ptr %flags, i64 %.20
  store atomic i64 0, ptr %.201 seq_cst, align 8
  ret void
no.memory:
  %held.0 = load ptr, ptr %.30, align 8
  call void @weft.give.back(ptr %.24, ptr %held.0)
  ret void
}
define internal ptr @weft.take(ptr %run, i64 %bytes) ; folded
define internal ptr @weft.take.planned(ptr %run, ptr %planned, i64 %bytes) ; folded
define internal void @weft.give.back(ptr %planned, ptr %pointer) ; folded
define internal <16 x float> @weft.exp.v16f32(<16 x float> %x0) alwaysinline ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %scratch)  {
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
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %.15, ptr %.26, i64 %.9, i64 256, i64 0, i64 6)
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
