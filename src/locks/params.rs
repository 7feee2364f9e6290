//! The parameters of a lock, declared once: the struct that a scenario's `[lock]` is read into, and
//! the list in the catalogue.
//!
//! It is a macro, because serde rejects unknown keys only for a struct that has every field
//! itself (no `flatten` together with `deny_unknown_fields`), so a family's parameters have to be
//! fields of each of its locks.

/// Defines a lock's `Params` and `Params::PARAMETERS`, which the catalogue lists, from its own
/// parameters and those of its family, if it has one: `one_node` or `redisson`. For a family,
/// `shared()` returns the family's.
///
/// A parameter is `name: Type = default, "purpose";`, and the default is one of
/// - `required`: a scenario has to give it,
/// - a number or `true` or `false`,
/// - `(value => "shown")`: a value, and its form in the catalogue, as a scenario would write it; a
///   test compares the two.
macro_rules! params {
    ($(#[$doc:meta])* pub struct Params { $($own:tt)* }) => {
        params! { @join $(#[$doc])* { $($own)* } {} {} }
    };
    // Parameters that are `listed last` come after the family's in the catalogue.
    ($(#[$doc:meta])* pub struct Params: one_node { $($own:tt)* } $(listed last { $($last:tt)* })?) => {
        params! {
            @join
            $(#[$doc])*
            { $($own)* }
            {
                /// How many replicas must have the lock before it counts (`WAIT`); 0: no check.
                #[serde(skip_serializing_if = "crate::is_zero")]
                wait_replicas: u32 = 0, "the lock counts once this many replicas have it (WAIT)";
                /// How long to wait for them, in milliseconds; 0: for ever. 1 s is how long
                /// Redisson's locks wait.
                #[serde(skip_serializing_if = "crate::one_node::is_default_wait_timeout_ms")]
                wait_timeout_ms: u64 = (crate::one_node::WAIT_TIMEOUT_MS => "1000"),
                    "how long to wait for them; 0: without a limit";
                /// Wait before the next attempt, in milliseconds.
                retry_delay_ms: u64 = (crate::RETRY_DELAY_MS => "200"),
                    "wait before the next attempt";
                /// The maximum random addition, drawn for each wait, in milliseconds.
                retry_jitter_ms: u64 = (crate::RETRY_JITTER_MS => "50"),
                    "up to this much more, drawn anew each time";
                /// How long the client waits for a connection or a reply, in milliseconds;
                /// absent: for ever.
                timeout_ms: Option<u64> = (None => "none"),
                    "give up waiting for the node after this";
            }
            { $($($last)*)? }
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
            @join
            $(#[$doc])*
            {
                /// The lease that the user gives, in milliseconds: `lock(lease)`. Absent:
                /// `lock()`, and the watchdog renews a lease of `watchdog_ms`.
                #[serde(skip_serializing_if = "Option::is_none")]
                lease_ms: Option<u64> = (None => "none"),
                    "the lease that the user gives; none: the watchdog renews it";
                /// The lease that the watchdog renews at a third of its length, in
                /// milliseconds: Redisson's `lockWatchdogTimeout`.
                watchdog_ms: u64 = 30000, "the lease, which the watchdog renews every third of it";
                /// What the watchdog does when a renewal fails.
                on_error: crate::redisson::watchdog::OnError = (Default::default() => "stop"),
                    "stop | retry: what the watchdog does when a renewal fails";
                /// How often a command without a reply is retransmitted: `retryAttempts` of
                /// Redisson 3.23.5.
                resend: u32 = 3, "how often to send a command again if no reply arrives";
                /// How long to wait for a reply, including the connection, in milliseconds:
                /// `timeout` of Redisson.
                reply_timeout_ms: u64 = 3000, "how long to wait for a reply";
                /// The pause before a command is retransmitted, in milliseconds:
                /// `retryInterval` of Redisson 3.23.5.
                resend_interval_ms: u64 = 1500,
                    "how long to wait after that before sending again";
                /// Whether a replica must have the lock, if the node has any. In Redisson this
                /// is the default unless it is configured for a single server.
                check_replicas: bool = false,
                    "a replica must have the lock, if there is any (WAIT)";
            }
            {}
            { $($own)* }
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
    // The fields are in the order of first, last, family; the catalogue lists the last ones last.
    (@join $(#[$doc:meta])* { $($first:tt)* } { $($family:tt)* } { $($last:tt)* }) => {
        params! {
            @whole
            $(#[$doc])*
            { $($first)* $($last)* $($family)* }
            { $($first)* $($family)* $($last)* }
        }
    };
    (
        @whole $(#[$doc:meta])*
        { $($(#[$attribute:meta])* $name:ident: $Type:ty = $default:tt, $_about:literal;)* }
        { $($(#[$_attribute:meta])* $listed:ident: $_Type:ty = $shown:tt, $about:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(from = "Written")]
        pub struct Params {
            $($(#[$attribute])* pub $name: $Type,)*
        }

        impl Params {
            /// All of them, as the catalogue lists them.
            pub const PARAMETERS: &'static [crate::algorithm::Parameter] =
                &[$((stringify!($listed), params!(@shown $shown), $about),)*];
        }

        /// The parameters that a scenario gives.
        #[derive(Default, serde::Deserialize)]
        #[serde(deny_unknown_fields, expecting = "struct Params")]
        struct Written {
            $($name: params!(@written $default $Type),)*
        }

        impl From<Written> for Params {
            fn from(written: Written) -> Params {
                Params {
                    $($name: params!(@value $default written.$name),)*
                }
            }
        }
    };
    (@shown required) => { "required" };
    (@shown ($value:expr => $shown:literal)) => { $shown };
    (@shown $value:literal) => { stringify!($value) };
    (@written required $Type:ty) => { $Type };
    (@written $default:tt $Type:ty) => { Option<$Type> };
    (@value required $given:expr) => { $given };
    (@value ($value:expr => $shown:literal) $given:expr) => { $given.unwrap_or($value) };
    (@value $value:literal $given:expr) => { $given.unwrap_or($value) };
}
