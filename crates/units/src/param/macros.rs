//! The macros that declare parameters.

/// The name of a field as a parameter: another one where Rust keeps the word for itself.
#[doc(hidden)]
#[macro_export]
macro_rules! param_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// The given default, or else the default behind it.
#[doc(hidden)]
#[macro_export]
macro_rules! param_or {
    ([] $default:expr) => {
        $default
    };
    ([$given:expr] $default:expr) => {
        $given
    };
}

/// Declares a struct of parameters. A line says name, type, default, perhaps a [`Kind`](crate::param::Kind) other than the type's,
/// perhaps that it is needed, perhaps what it excludes, perhaps what happens without it, perhaps a range in base units, source and help:
///
/// ```
/// use paceline_units::param::{ParamSet, Value};
/// use paceline_units::TimeDelta;
///
/// paceline_units::params! {
///     /// What a step marks by.
///     pub struct StepParams {
///         at: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1e6, "RFC 9332 A.1", "Wait above which a packet is marked";
///         part: Option<f64> = None, else "all", in 0.0, 1.0, "ours", "Part of the packets that are looked at";
///     }
/// }
///
/// let mut params = StepParams::default();
/// assert_eq!(params.set("at", Value::Time(TimeDelta::from_millis(1))), Ok(()));
/// assert!(params.set("part", Value::Ratio(2.0)).is_err());
/// ```
///
/// A field that is no parameter stands first, in braces of its own. Behind the struct, `with FIELD: TYPE;` includes the parameters of
/// another struct (`, without "NAME"` leaves one out), `ordered LOW <= HIGH, ...;` says which parameters must not cross,
/// `idle PATH;` names a function that says why a parameter does nothing, `check PATH;` one that finds other contradictions,
/// `profiles { "NAME": HELP => FUNCTION, ... }` lists named sets of values, a line `"NAME": HELP, over STACK => FUNCTION` with the
/// [`Stack`](crate::Stack) whose transport it imitates, and `usual FUNCTION;` names the set that is the default,
/// where the declared values, `declared()`, are not.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $struct:ident {
            $({ $( $(#[$plain_meta:meta])* $plain:ident: $plain_type:ty = $plain_default:expr, )* })?
            $(
                $field:ident $(($name:literal))?: $type:ty = $default:expr,
                $(type $kind:expr,)?
                $(as $need:ident,)? $(where no $excluded:expr,)? $(else $without:literal,)? $(in $low:expr, $high:expr,)?
                $source:expr, $help:literal;
            )*
        }
        $($(#[$group_meta:meta])* with $group:ident: $group_type:ty $(, without $unused:literal)?;)*
        $(ordered $($low_name:ident <= $high_name:ident),+;)?
        $(idle $idle:path;)?
        $(check $check:path;)?
        $(profiles { $($profile:literal: $profile_help:literal $(, over $stack:expr)? => $profile_params:expr,)+ })?
        $(usual $usual:path;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $struct {
            $($( $(#[$plain_meta])* pub $plain: $plain_type, )*)?
            $( #[doc = concat!($help, ".")] pub $field: $type, )*
            $( $(#[$group_meta])* pub $group: $group_type, )*
        }

        impl Default for $struct {
            fn default() -> Self {
                $crate::param_or!([$($usual())?] Self::declared())
            }
        }

        impl $struct {
            /// The values beside the names.
            fn declared() -> Self {
                $struct {
                    $($( $plain: $plain_default, )*)?
                    $( $field: $default, )*
                    $( $group: <$group_type>::default(), )*
                }
            }

            const OWN: &'static [$crate::param::Spec] = &[$( $crate::param::Spec {
                name: $crate::param_name!($field $($name)?),
                kind: $crate::param_or!([$($kind)?] <$type as $crate::param::Parameter>::KIND),
                need: $crate::param_or!([$($crate::param::Need::$need)?] $crate::param::Need::Optional),
                excludes: $crate::param_or!([$(&$excluded)?] &[]),
                without: $crate::param_or!([$($without)?] ""),
                range: $crate::param_or!([$(($low, $high))?] $crate::param::ANY),
                source: $source,
                help: $help,
            }, )*];

            /// The parameters that there are.
            pub const SPECS: &'static [$crate::param::Spec] = &$crate::param::joined::<
                { $struct::OWN.len() $( + <$group_type>::SPECS.len() $( - [$unused].len() )? )* },
            >(&[(Self::OWN, ""), $( (<$group_type>::SPECS, $crate::param_or!([$($unused)?] "")), )*]);
        }

        impl $crate::param::ParamSet for $struct {
            fn specs(&self) -> &'static [$crate::param::Spec] {
                Self::SPECS
            }

            fn value(&self, name: &str) -> Option<$crate::param::Value> {
                match name {
                    $( $crate::param_name!($field $($name)?) => $crate::param::stated(
                        $crate::param::Parameter::to_value(&self.$field),
                        $crate::param_or!([$($crate::param::Need::$need)?] $crate::param::Need::Optional),
                        $crate::param_or!([$($without)?] ""),
                    ), )*
                    $( $( $unused => None, )? )*
                    _ => None $( .or_else(|| $crate::param::ParamSet::value(&self.$group, name)) )*,
                }
            }

            fn set(
                &mut self,
                name: &str,
                value: $crate::param::Value,
            ) -> Result<(), $crate::param::ParamError> {
                let Some(spec) = Self::SPECS.iter().find(|spec| spec.name == name) else {
                    return Err($crate::param::unknown(name, Self::SPECS, None));
                };
                spec.check(&value)?;
                let wrong = spec.wrong(&value);
                let taken = match name {
                    $( $crate::param_name!($field $($name)?) => {
                        $crate::param::Parameter::assign(&mut self.$field, value)
                    } )*
                    $( _ if <$group_type>::SPECS.iter().any(|spec| spec.name == name) => {
                        return $crate::param::ParamSet::set(&mut self.$group, name, value);
                    } )*
                    _ => false,
                };
                if taken { Ok(()) } else { Err(wrong) }
            }

            fn idle(&self, name: &str) -> Option<$crate::param::Reason> {
                let _ = name;
                None
                    $( .or_else(|| $idle(self, name)) )?
                    $( .or_else(|| $crate::param::ParamSet::idle(&self.$group, name)) )*
            }

            fn contradiction(&self) -> Result<(), $crate::param::ParamError> {
                $(
                    $crate::param::Parameter::fits(&self.$field)
                        .map_err(|error| error.within($crate::param_name!($field $($name)?)))?;
                )*
                $( $crate::param::ParamSet::contradiction(&self.$group)?; )*
                $($( $crate::param::ordered(self, stringify!($low_name), stringify!($high_name))?; )+)?
                $( $check(self)?; )?
                Ok(())
            }
        }

        impl $crate::param::Parameter for $struct {
            const KIND: $crate::param::Kind = $crate::param::Kind::Table(Self::SPECS);

            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::table($crate::param::values(self)))
            }

            fn from_value(value: $crate::param::Value) -> Option<Self> {
                let mut params = Self::default();
                params.assign(value).then_some(params)
            }

            fn assign(&mut self, value: $crate::param::Value) -> bool {
                $crate::param::assign(self, value)
            }

            fn fits(&self) -> Result<(), $crate::param::ParamError> {
                $crate::param::ParamSet::check(self)
            }
        }

        $(impl $crate::param::Profiles for $struct {
            const PROFILES: &'static [$crate::param::ProfileHelp] = &[$( ($profile, $profile_help), )+];

            fn profile(name: &str) -> Option<$struct> {
                let params: fn() -> $struct = match name { $( $profile => $profile_params, )+ _ => return None };
                Some(params())
            }

            fn stack(name: &str) -> $crate::Stack {
                match name {
                    $( $profile => $crate::param_or!([$($stack)?] $crate::Stack::Standard), )+
                    _ => $crate::Stack::Standard,
                }
            }
        })?
    };
}

/// Declares an enum that is written as a name: `Variant = "name"`.
#[macro_export]
macro_rules! names {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident { $( $(#[$variant_meta:meta])* $variant:ident = $name:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $enum { $( $(#[$variant_meta])* $variant, )* }

        impl $enum {
            /// All there are.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];
            /// The names of all there are.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Name of the value, as scenarios write it.
            pub const fn name(self) -> &'static str {
                match self { $( $enum::$variant => $name, )* }
            }

            /// The one of this name, if there is one.
            pub fn named(name: &str) -> Option<$enum> {
                match name { $( $name => Some($enum::$variant), )* _ => None }
            }
        }

        impl $crate::param::Parameter for $enum {
            const KIND: $crate::param::Kind = $crate::param::Kind::Name(Self::NAMES);

            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::Value::Name(self.name()))
            }

            fn from_value(value: $crate::param::Value) -> Option<$enum> {
                if let $crate::param::Value::Name(name) = value { $enum::named(name) } else { None }
            }
        }
    };
}

/// Declares a family of which a scenario chooses one by `kind`: a line is documentation, which is the help, and
/// `Variant("kind", parameters)`. Behind the enum, `open Variant(OTHERS);` adds the kinds of another family, which come and go.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident {
            $( $(#[doc = $help:literal])+ $(#[cfg($cfg:meta)])? $variant:ident($kind:literal, $params:ty), )*
        }
        $($(#[$open_meta:meta])* open $open:ident($others:ty);)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one of each link or flow, never moved in the packet path")]
        $vis enum $enum {
            $( $(#[doc = $help])+ $(#[cfg($cfg)])? $variant($params), )*
            $( $(#[$open_meta])* $open($others), )?
        }

        impl $enum {
            /// The names of what there is, the usual one first, without those from outside.
            pub const KINDS: &'static [&'static str] = &[$( $(#[cfg($cfg)])? $kind, )*];

            /// The names of all there are at the moment, the usual one first.
            pub fn kinds() -> $crate::param::Names {
                #[allow(unused_mut, reason = "few families are open")]
                let mut kinds = Self::KINDS.to_vec();
                $( kinds.extend(<$others as $crate::param::Kinds>::kinds()); )?
                kinds
            }

            /// The one called `kind` with its usual parameters, if there is one.
            pub fn of(kind: &str) -> Option<$enum> {
                match kind {
                    $( $(#[cfg($cfg)])? $kind => Some($enum::$variant(Default::default())), )*
                    _ => $crate::param_or!([$(<$others as $crate::param::Kinds>::of(kind).map($enum::$open))?] None),
                }
            }

            /// Name of the kind, as scenarios write it.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(_) => $kind, )*
                    $( $enum::$open(other) => <$others as $crate::param::Kinds>::kind(other), )?
                }
            }

            /// Its description, in a line.
            pub fn help(&self) -> &'static str {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(_) => concat!($($help),+).trim_ascii(), )*
                    $( $enum::$open(other) => <$others as $crate::param::Kinds>::help(other), )?
                }
            }
        }

        impl $crate::param::Kinds for $enum {
            const KINDS: &'static [&'static str] = Self::KINDS;

            fn kinds() -> $crate::param::Names {
                Self::kinds()
            }

            fn of(kind: &str) -> Option<$enum> {
                Self::of(kind)
            }

            fn kind(&self) -> &'static str {
                self.kind()
            }

            fn help(&self) -> &'static str {
                self.help()
            }
        }

        impl $crate::param::ParamSet for $enum {
            fn specs(&self) -> &'static [$crate::param::Spec] {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(params) => params.specs(), )*
                    $( $enum::$open(params) => <$others as $crate::param::ParamSet>::specs(params), )?
                }
            }

            fn value(&self, name: &str) -> Option<$crate::param::Value> {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(params) => params.value(name), )*
                    $( $enum::$open(params) => <$others as $crate::param::ParamSet>::value(params, name), )?
                }
            }

            fn set(
                &mut self,
                name: &str,
                value: $crate::param::Value,
            ) -> Result<(), $crate::param::ParamError> {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(params) => params.set(name, value), )*
                    $( $enum::$open(params) => <$others as $crate::param::ParamSet>::set(params, name, value), )?
                }
            }

            fn idle(&self, name: &str) -> Option<$crate::param::Reason> {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(params) => params.idle(name), )*
                    $( $enum::$open(params) => <$others as $crate::param::ParamSet>::idle(params, name), )?
                }
            }

            fn contradiction(&self) -> Result<(), $crate::param::ParamError> {
                match self {
                    $( $(#[cfg($cfg)])? $enum::$variant(params) => params.contradiction(), )*
                    $( $enum::$open(params) => <$others as $crate::param::ParamSet>::contradiction(params), )?
                }
            }
        }

        impl $crate::param::Parameter for $enum {
            const KIND: $crate::param::Kind = $crate::param::Kind::Family(Self::KINDS);

            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::chosen(self))
            }

            fn from_value(_: $crate::param::Value) -> Option<$enum> {
                None
            }

            fn fits(&self) -> Result<(), $crate::param::ParamError> {
                $crate::param::ParamSet::check(self)
            }
        }
    };
}

/// Declares a family as [`kinds!`](crate::kinds) does, each kind of which has [`Profiles`](crate::param::Profiles).
#[macro_export]
macro_rules! profiled_kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident { $( $(#[doc = $help:literal])+ $variant:ident($kind:literal, $params:ty), )* }
        $($(#[$open_meta:meta])* open $open:ident($others:ty);)?
    ) => {
        $crate::kinds! {
            $(#[$meta])*
            $vis enum $enum { $( $(#[doc = $help])+ $variant($kind, $params), )* }
            $($(#[$open_meta])* open $open($others);)?
        }

        impl $enum {
            /// The kind under this profile, by default its first, and the profile's name; `None` if there is no such
            /// kind or profile.
            pub fn with_profile(kind: &str, profile: Option<&str>) -> Option<($enum, &'static str)> {
                let profiles = $enum::of(kind)?.profiles();
                let (name, _) = profiles.iter().find(|(name, _)| profile.is_none_or(|wanted| wanted == *name))?;
                let params = match kind {
                    $( $kind => $enum::$variant(<$params as $crate::param::Profiles>::profile(name)?), )*
                    _ => $crate::param_or!([$(
                        $enum::$open(<$others as $crate::param::ProfiledKinds>::with_profile(kind, Some(name))?.0)
                    )?] return None),
                };
                Some((params, name))
            }

            /// The names of its profiles and what they are, the usual one first.
            pub fn profiles(&self) -> &'static [$crate::param::ProfileHelp] {
                match self {
                    $( $enum::$variant(_) => <$params as $crate::param::Profiles>::PROFILES, )*
                    $( $enum::$open(other) => <$others as $crate::param::ProfiledKinds>::profiles(other), )?
                }
            }

            /// The stack that its profile of this name imitates.
            pub fn stack(&self, profile: &str) -> $crate::Stack {
                match self {
                    $( $enum::$variant(_) => <$params as $crate::param::Profiles>::stack(profile), )*
                    $( $enum::$open(other) => <$others as $crate::param::ProfiledKinds>::stack(other, profile), )?
                }
            }

            /// Every kind under each of its profiles, with the name of the profile.
            pub fn all() -> impl Iterator<Item = ($enum, &'static str)> {
                $enum::KINDS.iter().filter_map(|kind| $enum::of(kind)).flat_map(|usual| {
                    let profiles = usual.profiles().iter();
                    profiles.filter_map(move |(name, _)| $enum::with_profile(usual.kind(), Some(name)))
                })
            }
        }

        impl $crate::param::ProfiledKinds for $enum {
            fn with_profile(kind: &str, profile: Option<&str>) -> Option<($enum, &'static str)> {
                Self::with_profile(kind, profile)
            }

            fn profiles(&self) -> &'static [$crate::param::ProfileHelp] {
                self.profiles()
            }

            fn stack(&self, profile: &str) -> $crate::Stack {
                self.stack(profile)
            }
        }
    };
}
