//! The normal distribution's quantiles, accurate far out.

/// The value that a standard normal variable exceeds with this probability, in (0, 1).
///
/// M. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics
/// 37 (1988), the routine PPND16: a relative error of about 1e-16 down to probabilities of 1e-300.
pub fn upper_quantile(tail: f64) -> f64 {
    const A: [f64; 8] = [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ];
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ];
    const C: [f64; 8] = [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ];
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ];
    const E: [f64; 8] = [
        6.657_904_643_501_104,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ];
    const F: [f64; 8] = [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ];
    let from_middle = 0.5 - tail;
    if from_middle.abs() <= 0.425 {
        let r = 0.180_625 - from_middle * from_middle;
        return from_middle * polynomial(&A, r) / polynomial(&B, r);
    }
    let nearer = if from_middle > 0.0 { tail } else { 1.0 - tail };
    let r = libm::sqrt(-libm::log(nearer));
    let distance = match r <= 5.0 {
        true => polynomial(&C, r - 1.6) / polynomial(&D, r - 1.6),
        false => polynomial(&E, r - 5.0) / polynomial(&F, r - 5.0),
    };
    distance.copysign(from_middle)
}

/// The polynomial with these coefficients, the constant first.
fn polynomial(coefficients: &[f64; 8], at: f64) -> f64 {
    let horner = |sum, coefficient: &f64| sum * at + coefficient;
    coefficients.iter().rev().fold(0.0, horner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of Python's `statistics.NormalDist`.
    #[test]
    fn quantiles_are_accurate_in_the_middle_and_far_out() {
        for (tail, expected) in [
            (0.5, 0.0),
            (0.4, 0.253_347_103_135_799_8),
            (0.3, 0.524_400_512_708_040_7),
            (0.01, 2.326_347_874_040_840_8),
            (1e-6, 4.753_424_308_822_899),
            (1e-9, 5.997_807_015_007_686),
            (1e-12, 7.034_483_825_301_132),
            (1e-15, 7.941_345_326_170_995),
            (1e-300, 37.047_096_299_361_2),
        ] {
            let found = upper_quantile(tail);
            assert!(
                (found - expected).abs() < 1e-14 * (1.0 + expected),
                "{tail}: {found}"
            );
        }
        assert_eq!(upper_quantile(0.75), -upper_quantile(0.25));
    }
}
