// Commands about the command and its surroundings.
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
      "check what Isochrone needs: this machine, and the cluster, Kafka and services that are named; each finding comes with its remedy",
    )
    .addOption(new Option("--only <group...>", "only these groups of checks").choices([...GROUPS]))
    .addOption(
      new Option(
        "--server <url>",
        "where the graph API is (default: http://127.0.0.1:8080, which needn't be there)",
      )
        .argParser(httpUrl)
        .env("ISOCHRONE_SERVER"),
    )
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(kubeconfig())
    .addOption(context())
    .option("--kafka <host:port,...>", "brokers, where Kafka is the bus", listed)
    .option(
      "--settings <file>",
      "a service's settings, whose section bus says how Kafka is reached",
      readableFile,
    )
    .addOption(
      new Option("--collector <url>", "a collector's /metrics, for what its targets answer").argParser(
        httpUrl,
      ),
    )
    .addOption(
      new Option(
        "--scheduler-plugin <url>",
        "a scheduler-plugin's /metrics, for the certificate that kube-scheduler shows",
      ).argParser(httpUrl),
    )
    .option("--as <user>", "look at this user's rights alone, e.g. system:serviceaccount:NAMESPACE:NAME")
    .addOption(systemNamespace("where Isochrone is installed"))
    .option(
      "--release <name>",
      "name of the Helm release, which service accounts begin with",
      dnsLabel,
      "isochrone",
    )
    .option(
      "--chart <folder>",
      "the chart, with its rights and definitions (default: this repository's)",
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
    .description("print a script that completes this command's words")
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
