//! One `main` for a device and a host: a function that says lines and comes to an end, good or bad.

/// Where a program's lines go.
pub type Say<'s> = &'s mut dyn FnMut(core::fmt::Arguments<'_>);

/// Makes `main` of a function `fn(Say<'_>) -> Result<(), E>`: its lines and its error go to
/// standard output, on a device by semihosting, and the exit code says how it ended.
#[macro_export]
macro_rules! program {
    ($run:ident) => {
        #[cfg(not(target_os = "none"))]
        fn main() -> std::process::ExitCode {
            let end = $run(&mut |line| println!("{line}"));
            end.map_or_else(
                |error| {
                    println!("{error:?}");
                    std::process::ExitCode::FAILURE
                },
                |()| std::process::ExitCode::SUCCESS,
            )
        }

        #[cfg(target_os = "none")]
        mod device {
            use core::fmt::Write as _;

            // Named although unused: the linker needs its symbols.
            use panic_semihosting as _;

            #[cortex_m_rt::entry]
            fn main() -> ! {
                // A host that stopped listening is no reason to stop.
                let mut say = |line: core::fmt::Arguments<'_>| {
                    let _ =
                        cortex_m_semihosting::hio::hstdout().map(|mut out| writeln!(out, "{line}"));
                };
                let end = super::$run(&mut say);
                if let Err(error) = &end {
                    say(format_args!("{error:?}"));
                }
                let passed = end.is_ok();
                loop {
                    use cortex_m_semihosting::debug;
                    debug::exit(if passed {
                        debug::EXIT_SUCCESS
                    } else {
                        debug::EXIT_FAILURE
                    });
                }
            }
        }
    };
}
