import { reasonOf } from "@isochrone/primitives";
import { decide, type DecidedJob } from "@isochrone/scheduler-plugin/parsers";
import {
  createStreamJob,
  FieldError,
  FlowNetwork,
  joint,
  PathTable,
  readJobDefinition,
  StreamError,
} from "@isochrone/streams";
import type { Outcome, Trials } from "./trial.ts";

type Fields = Readonly<Record<string, unknown>>;

const NODE = "camera";
const NETWORK = new FlowNetwork([NODE], []);
const ROOM = { name: NODE, labels: {}, totalCpuMillicores: 4_000, memoryBytes: 1e9, cpuMillicores: 4_000 };

export function streamJobTrials(): Trials {
  return {
    trials: {
      "StreamJob: `tasks`": (amount) => planned({ tasks: many(amount, (at) => task(`t${at}`)) }),
      "StreamJob: `downstream` of a task": (amount) => {
        const downstream = many(amount, (at) => ({ task: `t${at}`, bytesPerFrame: 1 }));
        return read({ tasks: [task("t", { downstream })] });
      },
      "StreamJob: `profile` of a task": (amount) =>
        planned({ tasks: [task("t", { profile: many(amount, () => ({ secondsPerFrame: 1 })) })] }),
      "StreamJob: words of a `command` for profiling": (amount) =>
        planned({ tasks: [task("t", { profiling: { command: many(amount, () => "x") } })] }),
      "StreamJob: `bytesPerFrame`, with headers": (amount) => {
        const { spec } = readJobDefinition(
          "shop/job",
          specOf({ source: { node: NODE, bytesPerFrame: amount } }),
        );
        try {
          return { isCut: false, named: null, kept: createStreamJob(spec, [NODE], () => 1) };
        } catch (error) {
          return { isCut: error instanceof StreamError, named: reasonOf(error) };
        }
      },
      "StreamJob: `minThroughput`": (amount) => planned({ minThroughput: amount }),
      "StreamJobs that wait and are tried at a time": async (amount) => {
        const tasks = [task("t", { requests: { cpu: "5", memory: "0" } })];
        const jobs = many(amount, (at) => jobOf(`shop/${at}`, { tasks }));
        const reasons = await reasonsOf(jobs);
        const cut = reasons.filter((reason) => reason.includes("namespaces share"));
        return { isCut: cut.length > 0, named: cut[0] ?? null, input: jobs, kept: reasons };
      },
    },
  };
}

function read(spec: Fields): Outcome {
  try {
    return { isCut: false, named: null, input: spec, kept: readJobDefinition("shop/job", specOf(spec)) };
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    return { isCut: true, named: error.message, input: spec, kept: error };
  }
}

async function planned(spec: Fields): Promise<Outcome> {
  const outcome = read(spec);
  if (outcome.isCut) return outcome;
  const [reason = ""] = await reasonsOf([jobOf("shop/job", spec)]);
  const isCut = reason.startsWith("refused");
  return { ...outcome, isCut, named: isCut ? reason : null };
}

async function reasonsOf(jobs: readonly DecidedJob[]): Promise<string[]> {
  const paths = new PathTable(NETWORK);
  const strategy = joint({ moveMargin: Infinity });
  const verdicts = await decide({ network: NETWORK, paths, nodes: [ROOM], jobs, strategy, change: null });
  return [...verdicts.values()].map((verdict) => {
    if (verdict.kind === "placed") return "placed";
    return verdict.kind === "waiting" ? verdict.why.message : `refused: ${verdict.message}`;
  });
}

function jobOf(key: string, spec: Fields): DecidedJob {
  const definition = readJobDefinition(key, specOf(spec));
  const requests = new Map(definition.spec.tasks.map((each) => [each.name, each]));
  return {
    key,
    definition,
    createdMs: 0,
    knownMs: 0,
    placement: null,
    putOff: null,
    requestsOf: (name) => requests.get(name)!,
    rejection: () => null,
    measured: () => null,
    fastest: null,
  };
}

function specOf(spec: Fields): Fields {
  return { source: { node: NODE, bytesPerFrame: 1 }, tasks: [task("t")], ...spec };
}

function task(name: string, more: Fields = {}): Fields {
  return { name, requests: { cpu: "0", memory: "0" }, profile: [{ secondsPerFrame: 1 }], ...more };
}

function many<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}
