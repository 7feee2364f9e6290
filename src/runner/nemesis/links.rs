//! Converts a fault of links into a rule of the link model.

use locklab_link::{LinkEffect, LinkRule};

use locklab_history::{FaultyLinks, Name, PacketFault};

/// The rule for these links; `host` converts a name into the user's type of host.
pub fn link_rule<H>(links: &FaultyLinks, host: impl Fn(&Name) -> H) -> LinkRule<H> {
    LinkRule {
        from: links.from.iter().map(&host).collect(),
        to: links.to.iter().map(&host).collect(),
        both_ways: links.both_ways,
        effect: match links.packets {
            PacketFault::Cut => LinkEffect::Cut,
            PacketFault::Slow { extra_ns } => LinkEffect::Slow { extra_ns },
            PacketFault::Lossy { probability } => LinkEffect::Lossy { probability },
        },
    }
}
