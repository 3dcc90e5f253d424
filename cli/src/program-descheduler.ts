import { Option } from "commander";
import type { Command } from "commander";
import type { DeschedulerOptions } from "./commands/descheduler.ts";
import { httpUrl, readableFile } from "./options.ts";
import { examples, namespace } from "./program-options.ts";

const DEFAULT_SCHEDULER = "http://127.0.0.1:8081";

export function addDescheduler(
  program: Command,
  print: (text: string) => void,
  common: readonly Option[],
): void {
  const command = program
    .command("descheduler")
    .description(
      "print which pods the descheduler's last run moved (or would move, in a dry run) and why others stay",
    )
    .addOption(
      new Option("--server <url>", "address of the scheduler-plugin's leader")
        .argParser(httpUrl)
        .default(DEFAULT_SCHEDULER)
        .env("ISOCHRONE_SCHEDULER"),
    )
    .addOption(namespace("only pods of this namespace (default: all)"))
    .option(
      "--cert-file <file>",
      "client certificate (PEM), if the scheduler-plugin requires one",
      readableFile,
    )
    .option("--key-file <file>", "its key (PEM)", readableFile);
  examples(
    command,
    "% descheduler --server https://127.0.0.1:8081 --ca-file ca.pem --cert-file tls.crt --key-file tls.key",
    "% descheduler -n shop -o json",
    "% descheduler --watch 10s",
  );
  for (const option of common) command.addOption(option);
  command.action(async (options: DeschedulerOptions) =>
    (await import("./commands/descheduler.ts")).deschedulerCommand(options, print),
  );
}
