//! What a run could have shown: scenarios whose verdicts depend on what met what.

mod bounds;
