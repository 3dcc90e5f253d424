import { Argument, Option } from "commander";
import type { Command } from "commander";
import { SHELLS } from "./completion/scripts.ts";
import type { Shell } from "./completion/scripts.ts";
import { GROUPS } from "./doctor/finding.ts";
import { dnsLabel, httpUrl, listed, readableFile, readableFolder } from "./options.ts";
import {
  caFile,
  context,
  examples,
  kubeconfig,
  output,
  systemNamespace,
  tokenFile,
} from "./program-options.ts";
import type { Print } from "./program-options.ts";

export function addDoctor(program: Command, print: Print): void {
  const command = program
    .command("doctor")
    .description(
      "check this machine and the given cluster, Kafka and services; each finding includes a remedy",
    )
    .addOption(new Option("--only <group...>", "only these checks").choices([...GROUPS]))
    .addOption(
      new Option(
        "--server <url>",
        "address of the graph API (default: http://127.0.0.1:8080, which needn't be there)",
      )
        .argParser(httpUrl)
        .env("ISOCHRONE_SERVER"),
    )
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(kubeconfig())
    .addOption(context())
    .option("--kafka <host:port,...>", "Kafka brokers, if Kafka is the bus", listed)
    .option(
      "--settings <file>",
      "a service's settings file, whose section bus has the connection to Kafka",
      readableFile,
    )
    .addOption(
      new Option("--collector <url>", "a collector's /metrics, to check its targets").argParser(httpUrl),
    )
    .addOption(
      new Option(
        "--scheduler-plugin <url>",
        "a scheduler-plugin's /metrics, to check kube-scheduler's certificate",
      ).argParser(httpUrl),
    )
    .addOption(
      new Option(
        "--network-manager <url>",
        "a network manager, as its node sees it, to check what it does with the flow plan",
      ).argParser(httpUrl),
    )
    .option("--as <user>", "check only this user's rights, e.g. system:serviceaccount:NAMESPACE:NAME")
    .addOption(systemNamespace("where Isochrone is installed"))
    .option(
      "--release <name>",
      "name of the Helm release, the prefix of service accounts",
      dnsLabel,
      "isochrone",
    )
    .option(
      "--chart <folder>",
      "the chart with its RBAC rules and definitions (default: this repository's)",
      readableFolder,
    )
    .addOption(output());
  examples(
    command,
    "% doctor",
    "% doctor --only kernel sockets permissions",
    "% doctor --kubeconfig ~/.kube/config --server https://127.0.0.1:8080 --ca-file ca.pem --token-file token",
    "% doctor --kafka kafka-0:9092,kafka-1:9092 --only kafka -o json",
    "% doctor --only rbac --as system:serviceaccount:isochrone:isochrone-aggregator",
  );
  command.action(async (options) => (await import("./commands/doctor.ts")).doctorCommand(options, print));
}

export function addCompletion(program: Command, print: Print): void {
  const command = program
    .command("completion")
    .description("print a shell completion script")
    .addArgument(new Argument("<shell>", "which shell").choices([...SHELLS]))
    .action(async (shell: Shell) =>
      (await import("./commands/completion.ts")).completionCommand(shell, program, print),
    );
  examples(
    command,
    "source <(isochrone completion bash)                # in ~/.bashrc",
    "source <(isochrone completion zsh)                 # in ~/.zshrc, after compinit",
    "isochrone completion fish > ~/.config/fish/completions/isochrone.fish",
  );
}
