import { conduct, listScenarios, scenarioFile, ScenarioError } from "@isochrone/experiments";
import type {
  CatalogueEntry,
  Conducted,
  KubeScheduler,
  ProductSettings,
  RunProgress,
} from "@isochrone/experiments";
import { loadSettings, systemClock } from "@isochrone/runtime";
import { deschedulerSettings, plannerSettings } from "@isochrone/scheduler-plugin";
import { definedOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { createProgress } from "../output/progress.ts";
import { table } from "../output/table.ts";

interface ExperimentOptions {
  readonly list?: boolean;
  readonly quick?: boolean;
  readonly ground: "model" | "lab" | "both";
  readonly out: string;
  readonly only?: Readonly<Record<string, string>>;
  readonly contenders?: readonly string[];
  readonly jobs: number;
  readonly scale?: number;
  readonly train?: boolean;
  readonly trace?: string;
  readonly output: Format;
}

export type StartScheduler = () => Promise<KubeScheduler | null>;

export async function experimentCommand(
  name: string | undefined,
  options: ExperimentOptions,
  print: (text: string) => void,
  startScheduler: StartScheduler | null,
): Promise<void> {
  if (options.list === true) {
    const scenarios = listScenarios();
    print(formatted(options.output, scenarios, listText));
    return;
  }
  const files = filesOf(name, options);
  const kubeScheduler = (await startScheduler?.()) ?? null;
  const all: Summary[] = [];
  for (const file of files) {
    const summary = summaryOf(await run(file, options, kubeScheduler));
    all.push(summary);
    if (options.output === "table") print(summaryText(summary));
  }
  if (options.output !== "table") print(formatted(options.output, all, () => ""));
  if (options.quick !== true) return;
  const broken = all.flatMap(({ verdicts }) =>
    verdicts.filter(({ isHeld }) => !isHeld).map(({ text }) => text),
  );
  if (broken.length > 0) throw new CommandError(`a direction does not hold: ${broken.join("; ")}`);
}

function listText(scenarios: readonly CatalogueEntry[]): string {
  return table(
    ["name", "quick", "title"],
    scenarios.map(({ name, hasQuick, title }) => [name, hasQuick ? "yes" : "no", title]),
  );
}

function filesOf(name: string | undefined, { quick }: ExperimentOptions): readonly string[] {
  if (name !== undefined) {
    const file = scenarioFile(name);
    if (file !== null) return [file];
    const known = listScenarios().map((entry) => entry.name);
    throw usageError(`a scenario must be one of ${known.join(", ")} or a .yaml file, got ${name}`);
  }
  if (quick !== true) throw usageError("experiment needs a scenario's name, --list or --quick");
  return listScenarios()
    .filter(({ hasQuick }) => hasQuick)
    .map((entry) => scenarioFile(entry.name)!);
}

async function run(
  file: string,
  options: ExperimentOptions,
  kubeScheduler: KubeScheduler | null,
): Promise<Conducted> {
  const { ground, quick = false, out, only = {}, contenders, jobs, scale, train, trace } = options;
  const stop = new AbortController();
  const interrupt = (): void =>
    stop.abort(new CommandError("interrupted; run the same command again to continue"));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const screen = createProgress(process.stderr, () => systemClock.monotonic());
  try {
    return await conduct(
      {
        file,
        quick,
        out,
        only,
        jobs,
        ...definedOf({ contenders, scale, train, trace }),
        grounds: ground === "both" ? ["model", "lab"] : [ground],
        command: commandLine(process.argv),
        onProgress: (progress) => screen.at(progress.share, progressText(progress)),
        signal: stop.signal,
      },
      { clock: systemClock, product: productSettings(), kubeScheduler },
    );
  } catch (error) {
    if (error instanceof ScenarioError) throw usageError(error.message, { cause: error });
    throw error;
  } finally {
    screen.clear();
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

/** Uses the installed defaults, ignoring this shell's environment. */
function productSettings(): ProductSettings {
  const { planner, descheduler } = loadSettings([plannerSettings, deschedulerSettings], { env: {} });
  return { planner, descheduler };
}

function commandLine(argv: readonly string[]): string {
  const quoted = argv.slice(2).map((part) => (/^[\w./=:@-]+$/.test(part) ? part : `'${part}'`));
  return ["isochrone", ...quoted].join(" ");
}

function progressText({ done, total, secondsLeft, what }: RunProgress): string {
  const left = secondsLeft === null ? "" : `, ${durationText(secondsLeft)} left`;
  return `${done} of ${total}${left}  ${what}`;
}

function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${Math.ceil(seconds)} s` : `${minutes} min ${Math.round(seconds % 60)} s`;
}

type Summary = Omit<Conducted, "scenario"> & { readonly scenario: string };

function summaryOf(conducted: Conducted): Summary {
  return { ...conducted, scenario: conducted.scenario.name };
}

function summaryText({ scenario, cells, measured, failed, verdicts, notes = [], files }: Summary): string {
  const counts = `${scenario}: ${cells} cells, ${measured} measured now${failed === 0 ? "" : `, ${failed} without a placement`}`;
  return [
    counts,
    ...[...verdicts.map(({ text }) => text), ...notes, files.html].map((line) => `  ${line}`),
  ].join("\n");
}
