declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
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
  %.6 = alloca <16 x float>
  %.7 = alloca <16 x i64>
  %.8 = alloca <16 x i8>
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.197, %join.46 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  store <16 x float> splat (float 0x0000000000000000), ptr %.6, align 4
  store <16 x i64> splat (i64 0), ptr %.7, align 8
  %.9 = zext <16 x i1> splat (i1 true) to <16 x i8>
  store <16 x i8> %.9, ptr %.8, align 1
  %.10 = sub i64 40, 0
  %.11 = sdiv i64 %.10, 16
  %.12 = mul i64 %.11, 16
  %.13 = add i64 0, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ 0, %body.2 ], [ %.43, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = mul i64 %.4, 40
  %.20 = add i64 %.19, %.17
  %.21 = getelementptr inbounds float, ptr %p0, i64 %.20
  %.22 = load <16 x float>, ptr %.21, align 4
  %.23 = insertelement <16 x i64> poison, i64 %.17, i32 0
  %.24 = shufflevector <16 x i64> %.23, <16 x i64> poison, <16 x i32> zeroinitializer
  %.25 = add <16 x i64> %.24, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>
  %.26 = load <16 x float>, ptr %.6, align 4
  %.27 = fcmp ogt <16 x float> %.22, %.26
  %.28 = fcmp uno <16 x float> %.22, %.22
  %.29 = or <16 x i1> %.27, %.28
  %.30 = fcmp uno <16 x float> %.26, %.26
  %.31 = xor <16 x i1> %.30, splat (i1 true)
  %.32 = and <16 x i1> %.29, %.31
  %.33 = load <16 x i8>, ptr %.8, align 1
  %.34 = trunc <16 x i8> %.33 to <16 x i1>
  %.35 = or <16 x i1> %.32, %.34
  %.36 = select <16 x i1> %.35, <16 x float> %.22, <16 x float> %.26
  store <16 x float> %.36, ptr %.6, align 4
  %.37 = load <16 x i64>, ptr %.7, align 8
  %.38 = select <16 x i1> %.35, <16 x i64> %.25, <16 x i64> %.37
  store <16 x i64> %.38, ptr %.7, align 8
  %.39 = load <16 x i8>, ptr %.8, align 1
  %.40 = trunc <16 x i8> %.39 to <16 x i1>
  %.41 = select <16 x i1> %.35, <16 x i1> splat (i1 false), <16 x i1> %.40
  %.42 = zext <16 x i1> %.41 to <16 x i8>
  store <16 x i8> %.42, ptr %.8, align 1
  %.43 = add nsw i64 %.17, 16
  br label %loop.14
done.16:
  %.44 = icmp slt i64 %.13, 40
  br i1 %.44, label %then.45, label %join.46
then.45:
  %.47 = sub i64 40, %.13
  %.48 = trunc i64 %.47 to i32
  %.49 = insertelement <16 x i32> poison, i32 %.48, i32 0
  %.50 = shufflevector <16 x i32> %.49, <16 x i32> poison, <16 x i32> zeroinitializer
  %.51 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.50
  %.52 = mul i64 %.4, 40
  %.53 = add i64 %.52, %.13
  %.54 = getelementptr inbounds float, ptr %p0, i64 %.53
  %.55 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.54, i32 4, <16 x i1> %.51, <16 x float> splat (float 0x0000000000000000))
  %.56 = insertelement <16 x i64> poison, i64 %.13, i32 0
  %.57 = shufflevector <16 x i64> %.56, <16 x i64> poison, <16 x i32> zeroinitializer
  %.58 = add <16 x i64> %.57, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>
  %.59 = load <16 x float>, ptr %.6, align 4
  %.60 = fcmp ogt <16 x float> %.55, %.59
  %.61 = fcmp uno <16 x float> %.55, %.55
  %.62 = or <16 x i1> %.60, %.61
  %.63 = fcmp uno <16 x float> %.59, %.59
  %.64 = xor <16 x i1> %.63, splat (i1 true)
  %.65 = and <16 x i1> %.62, %.64
  %.66 = load <16 x i8>, ptr %.8, align 1
  %.67 = trunc <16 x i8> %.66 to <16 x i1>
  %.68 = or <16 x i1> %.65, %.67
  %.69 = and <16 x i1> %.68, %.51
  %.70 = select <16 x i1> %.69, <16 x float> %.55, <16 x float> %.59
  store <16 x float> %.70, ptr %.6, align 4
  %.71 = load <16 x i64>, ptr %.7, align 8
  %.72 = select <16 x i1> %.69, <16 x i64> %.58, <16 x i64> %.71
  store <16 x i64> %.72, ptr %.7, align 8
  %.73 = load <16 x i8>, ptr %.8, align 1
  %.74 = trunc <16 x i8> %.73 to <16 x i1>
  %.75 = select <16 x i1> %.69, <16 x i1> splat (i1 false), <16 x i1> %.74
  %.76 = zext <16 x i1> %.75 to <16 x i8>
  store <16 x i8> %.76, ptr %.8, align 1
  br label %join.46
join.46:
  %.77 = load <16 x float>, ptr %.6, align 4
  %.78 = load <16 x i64>, ptr %.7, align 8
  %.79 = load <16 x i8>, ptr %.8, align 1
  %.80 = trunc <16 x i8> %.79 to <16 x i1>
  %.81 = shufflevector <16 x float> %.77, <16 x float> %.77, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.82 = shufflevector <16 x float> %.77, <16 x float> %.77, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.83 = shufflevector <16 x i64> %.78, <16 x i64> %.78, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.84 = shufflevector <16 x i64> %.78, <16 x i64> %.78, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.85 = shufflevector <16 x i1> %.80, <16 x i1> %.80, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.86 = shufflevector <16 x i1> %.80, <16 x i1> %.80, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.87 = fcmp ogt <8 x float> %.82, %.81
  %.88 = fcmp uno <8 x float> %.82, %.82
  %.89 = or <8 x i1> %.87, %.88
  %.90 = fcmp uno <8 x float> %.81, %.81
  %.91 = xor <8 x i1> %.90, splat (i1 true)
  %.92 = and <8 x i1> %.89, %.91
  %.93 = fcmp ogt <8 x float> %.81, %.82
  %.94 = fcmp uno <8 x float> %.81, %.81
  %.95 = or <8 x i1> %.93, %.94
  %.96 = fcmp uno <8 x float> %.82, %.82
  %.97 = xor <8 x i1> %.96, splat (i1 true)
  %.98 = and <8 x i1> %.95, %.97
  %.99 = xor <8 x i1> %.98, splat (i1 true)
  %.100 = icmp slt <8 x i64> %.84, %.83
  %.101 = and <8 x i1> %.99, %.100
  %.102 = or <8 x i1> %.92, %.101
  %.103 = or <8 x i1> %.102, %.85
  %.104 = xor <8 x i1> %.86, splat (i1 true)
  %.105 = and <8 x i1> %.103, %.104
  %.106 = select <8 x i1> %.105, <8 x float> %.82, <8 x float> %.81
  %.107 = select <8 x i1> %.105, <8 x i64> %.84, <8 x i64> %.83
  %.108 = and <8 x i1> %.85, %.86
  %.109 = shufflevector <8 x float> %.106, <8 x float> %.106, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.110 = shufflevector <8 x float> %.106, <8 x float> %.106, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.111 = shufflevector <8 x i64> %.107, <8 x i64> %.107, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.112 = shufflevector <8 x i64> %.107, <8 x i64> %.107, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.113 = shufflevector <8 x i1> %.108, <8 x i1> %.108, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.114 = shufflevector <8 x i1> %.108, <8 x i1> %.108, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.115 = fcmp ogt <4 x float> %.110, %.109
  %.116 = fcmp uno <4 x float> %.110, %.110
  %.117 = or <4 x i1> %.115, %.116
  %.118 = fcmp uno <4 x float> %.109, %.109
  %.119 = xor <4 x i1> %.118, splat (i1 true)
  %.120 = and <4 x i1> %.117, %.119
  %.121 = fcmp ogt <4 x float> %.109, %.110
  %.122 = fcmp uno <4 x float> %.109, %.109
  %.123 = or <4 x i1> %.121, %.122
  %.124 = fcmp uno <4 x float> %.110, %.110
  %.125 = xor <4 x i1> %.124, splat (i1 true)
  %.126 = and <4 x i1> %.123, %.125
  %.127 = xor <4 x i1> %.126, splat (i1 true)
  %.128 = icmp slt <4 x i64> %.112, %.111
  %.129 = and <4 x i1> %.127, %.128
  %.130 = or <4 x i1> %.120, %.129
  %.131 = or <4 x i1> %.130, %.113
  %.132 = xor <4 x i1> %.114, splat (i1 true)
  %.133 = and <4 x i1> %.131, %.132
  %.134 = select <4 x i1> %.133, <4 x float> %.110, <4 x float> %.109
  %.135 = select <4 x i1> %.133, <4 x i64> %.112, <4 x i64> %.111
  %.136 = and <4 x i1> %.113, %.114
  %.137 = shufflevector <4 x float> %.134, <4 x float> %.134, <2 x i32> <i32 0, i32 1>
  %.138 = shufflevector <4 x float> %.134, <4 x float> %.134, <2 x i32> <i32 2, i32 3>
  %.139 = shufflevector <4 x i64> %.135, <4 x i64> %.135, <2 x i32> <i32 0, i32 1>
  %.140 = shufflevector <4 x i64> %.135, <4 x i64> %.135, <2 x i32> <i32 2, i32 3>
  %.141 = shufflevector <4 x i1> %.136, <4 x i1> %.136, <2 x i32> <i32 0, i32 1>
  %.142 = shufflevector <4 x i1> %.136, <4 x i1> %.136, <2 x i32> <i32 2, i32 3>
  %.143 = fcmp ogt <2 x float> %.138, %.137
  %.144 = fcmp uno <2 x float> %.138, %.138
  %.145 = or <2 x i1> %.143, %.144
  %.146 = fcmp uno <2 x float> %.137, %.137
  %.147 = xor <2 x i1> %.146, splat (i1 true)
  %.148 = and <2 x i1> %.145, %.147
  %.149 = fcmp ogt <2 x float> %.137, %.138
  %.150 = fcmp uno <2 x float> %.137, %.137
  %.151 = or <2 x i1> %.149, %.150
  %.152 = fcmp uno <2 x float> %.138, %.138
  %.153 = xor <2 x i1> %.152, splat (i1 true)
  %.154 = and <2 x i1> %.151, %.153
  %.155 = xor <2 x i1> %.154, splat (i1 true)
  %.156 = icmp slt <2 x i64> %.140, %.139
  %.157 = and <2 x i1> %.155, %.156
  %.158 = or <2 x i1> %.148, %.157
  %.159 = or <2 x i1> %.158, %.141
  %.160 = xor <2 x i1> %.142, splat (i1 true)
  %.161 = and <2 x i1> %.159, %.160
  %.162 = select <2 x i1> %.161, <2 x float> %.138, <2 x float> %.137
  %.163 = select <2 x i1> %.161, <2 x i64> %.140, <2 x i64> %.139
  %.164 = and <2 x i1> %.141, %.142
  %.165 = shufflevector <2 x float> %.162, <2 x float> %.162, <1 x i32> <i32 0>
  %.166 = shufflevector <2 x float> %.162, <2 x float> %.162, <1 x i32> <i32 1>
  %.167 = shufflevector <2 x i64> %.163, <2 x i64> %.163, <1 x i32> <i32 0>
  %.168 = shufflevector <2 x i64> %.163, <2 x i64> %.163, <1 x i32> <i32 1>
  %.169 = shufflevector <2 x i1> %.164, <2 x i1> %.164, <1 x i32> <i32 0>
  %.170 = shufflevector <2 x i1> %.164, <2 x i1> %.164, <1 x i32> <i32 1>
  %.171 = fcmp ogt <1 x float> %.166, %.165
  %.172 = fcmp uno <1 x float> %.166, %.166
  %.173 = or <1 x i1> %.171, %.172
  %.174 = fcmp uno <1 x float> %.165, %.165
  %.175 = xor <1 x i1> %.174, splat (i1 true)
  %.176 = and <1 x i1> %.173, %.175
  %.177 = fcmp ogt <1 x float> %.165, %.166
  %.178 = fcmp uno <1 x float> %.165, %.165
  %.179 = or <1 x i1> %.177, %.178
  %.180 = fcmp uno <1 x float> %.166, %.166
  %.181 = xor <1 x i1> %.180, splat (i1 true)
  %.182 = and <1 x i1> %.179, %.181
  %.183 = xor <1 x i1> %.182, splat (i1 true)
  %.184 = icmp slt <1 x i64> %.168, %.167
  %.185 = and <1 x i1> %.183, %.184
  %.186 = or <1 x i1> %.176, %.185
  %.187 = or <1 x i1> %.186, %.169
  %.188 = xor <1 x i1> %.170, splat (i1 true)
  %.189 = and <1 x i1> %.187, %.188
  %.190 = select <1 x i1> %.189, <1 x float> %.166, <1 x float> %.165
  %.191 = select <1 x i1> %.189, <1 x i64> %.168, <1 x i64> %.167
  %.192 = and <1 x i1> %.169, %.170
  %.193 = extractelement <1 x float> %.190, i32 0
  %.194 = extractelement <1 x i64> %.191, i32 0
  %.195 = extractelement <1 x i1> %.192, i32 0
  %.196 = getelementptr inbounds i64, ptr %p1, i64 %.4
  store i64 %.194, ptr %.196, align 8
  %.197 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 6)
  ret void
}
