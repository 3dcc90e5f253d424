import { availableParallelism } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import type { StartScheduler } from "./commands/experiment.ts";
import { positiveNumber, wholeNumber } from "./options.ts";
import { commandOf, examples, output } from "./program-options.ts";
import type { Print } from "./program-options.ts";

const MAX_JOBS = 64;

/** @param startScheduler a real kube-scheduler for the baseline; null: an imitation */
export function addExperiment(program: Command, print: Print, startScheduler: StartScheduler | null): void {
  program
    .command("experiment")
    .description("repeat a published experiment and write results and a report")
    .argument("[name]", "scenario by name, or a file of one; --quick alone runs all that have a quick run")
    .option("--list", "print the scenarios")
    .option("--quick", "fewer and shorter trials; fails if results have the wrong direction")
    .addOption(
      new Option("--ground <name>", "the queueing model, the lab with real processes and packets, or both")
        .choices(["model", "lab", "both"])
        .default("model"),
    )
    .option("--out <folder>", "folder for results and report", "experiment-results")
    .option("--only <label=value>", "only points with this label; repeatable", label)
    .option("--contenders <names>", "only these contenders, baseline included: default,isochrone", names)
    .option(
      "--jobs <number>",
      "cells of the model that run in parallel",
      wholeNumber(1, MAX_JOBS),
      availableParallelism(),
    )
    .option("--scale <number>", "scale of the lab, instead of the scenario's", positiveNumber(1_000))
    .option("--train", "train the learned contenders of kais first; goes on where it was ended")
    .option("--trace <file>", "tasks to take requests from, in place of generated ones; kais only")
    .addOption(output())
    .action(async (name: string | undefined, options) =>
      (await import("./commands/experiment.ts")).experimentCommand(name, options, print, startScheduler),
    );
  examples(
    commandOf(program, "experiment"),
    "% experiment --list",
    "% experiment figure-3",
    "% experiment figure-3 --ground both --only rttMs=100",
    "% experiment --quick",
    "% experiment kais --train -o json",
  );
}

function names(text: string): readonly string[] {
  return text.split(",").map((name) => name.trim());
}

function label(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError(`must be label=value, got ${JSON.stringify(text)}`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
