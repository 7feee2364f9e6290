//! The parameters of a lock that belongs to a family: a struct with its own fields and the
//! family's.
//!
//! It is a macro, because serde rejects unknown keys only for a struct that has every field
//! itself (no `flatten` together with `deny_unknown_fields`).

/// Defines a lock's `Params` with its own fields and those of its family, `one_node` or
/// `redisson`; `shared()` returns the family's.
macro_rules! params {
    ($(#[$doc:meta])* pub struct Params: one_node { $($own:tt)* }) => {
        params! {
            @whole
            $(#[$doc])*
            {
                $($own)*
                /// How many replicas must have the lock before it counts (`WAIT`); 0: no check.
                #[serde(default, skip_serializing_if = "crate::is_zero")]
                pub wait_replicas: u32,
                /// How long to wait for them, in milliseconds; 0: for ever.
                #[serde(
                    default = "crate::one_node::default_wait_timeout_ms",
                    skip_serializing_if = "crate::one_node::is_default_wait_timeout_ms"
                )]
                pub wait_timeout_ms: u64,
                /// Wait before the next attempt, in milliseconds.
                #[serde(default = "crate::default_retry_delay_ms")]
                pub retry_delay_ms: u64,
                /// The maximum random addition, drawn for each wait, in milliseconds.
                #[serde(default = "crate::default_retry_jitter_ms")]
                pub retry_jitter_ms: u64,
                /// How long the client waits for a connection or a reply, in milliseconds;
                /// absent: for ever.
                #[serde(default)]
                pub timeout_ms: Option<u64>,
            }
        }

        impl Params {
            /// The parameters that all locks on one node share.
            fn shared(&self) -> crate::one_node::Shared {
                crate::one_node::Shared {
                    wait_replicas: self.wait_replicas,
                    wait_timeout_ms: self.wait_timeout_ms,
                    retry: crate::Retry {
                        delay_ms: self.retry_delay_ms,
                        jitter_ms: self.retry_jitter_ms,
                    },
                    timeout_ms: self.timeout_ms,
                }
            }
        }
    };
    ($(#[$doc:meta])* pub struct Params: redisson { $($own:tt)* }) => {
        params! {
            @whole
            $(#[$doc])*
            {
                /// The lease that the user gives, in milliseconds: `lock(lease)`. Absent:
                /// `lock()`, and the watchdog renews a lease of `watchdog_ms`.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub lease_ms: Option<u64>,
                /// The lease that the watchdog renews at a third of its length, in
                /// milliseconds.
                #[serde(default = "crate::redisson::params::default_watchdog_ms")]
                pub watchdog_ms: u64,
                /// What the watchdog does when a renewal fails.
                #[serde(default)]
                pub on_error: crate::redisson::watchdog::OnError,
                /// How often a command without a reply is retransmitted.
                #[serde(default = "crate::redisson::params::default_resend")]
                pub resend: u32,
                /// How long to wait for a reply, including the connection, in milliseconds.
                #[serde(default = "crate::redisson::params::default_reply_timeout_ms")]
                pub reply_timeout_ms: u64,
                /// The pause before a command is retransmitted, in milliseconds.
                #[serde(default = "crate::redisson::params::default_resend_interval_ms")]
                pub resend_interval_ms: u64,
                /// Whether a replica must have the lock, if the node has any. In Redisson this
                /// is the default unless it is configured for a single server.
                #[serde(default)]
                pub check_replicas: bool,
                $($own)*
            }
        }

        impl Params {
            /// The parameters that all locks of the family share.
            fn shared(&self) -> crate::redisson::params::Shared {
                crate::redisson::params::Shared {
                    lease: crate::redisson::params::Lease::new(
                        self.lease_ms,
                        self.watchdog_ms,
                    ),
                    on_error: self.on_error,
                    resend: crate::redisson::resend::Resend {
                        times: self.resend,
                        reply_timeout_ms: self.reply_timeout_ms,
                        interval_ms: self.resend_interval_ms,
                    },
                    check_replicas: self.check_replicas,
                }
            }
        }
    };
    (@whole $(#[$doc:meta])* { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Params {
            $($fields)*
        }
    };
}
