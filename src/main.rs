//! The `doorward` binary: hand the command line over.

fn main() -> std::process::ExitCode {
    doorward::main()
}
