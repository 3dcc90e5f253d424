import { ChangeError, whatIf } from "@isochrone/placement";
import type {
  Change,
  ExclusionRules,
  Relocation,
  Scaling,
  Slowdown,
  WhatIf,
  World,
} from "@isochrone/placement";
import { listedPrices, PriceTable } from "@isochrone/prices";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";
import { planningOf } from "../commands/plan.ts";
import { CommandError, usageError } from "../errors.ts";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf, type Print, type View } from "../output/show.ts";
import { proposedMoves } from "../moves/proposed-moves.ts";
import type { MovedBy } from "../moves/obstacles.ts";
import { SCORED_BY } from "../score/scheduling-objects.ts";
import { readCluster, type ClusterSource } from "./cluster-objects.ts";
import { whatIfText } from "./what-if-text.ts";

interface WhatIfOptions extends GraphServerOptions, ClusterSource {
  readonly drain: readonly string[];
  readonly loseZone: readonly string[];
  readonly scale: readonly Scaling[];
  readonly move: readonly Relocation[];
  readonly slow: readonly Slowdown[];
  readonly prices?: string;
  /** @default the settings' objective */
  readonly objective?: "latency" | "money" | "weighted";
  readonly namespace?: string;
  readonly cluster?: string;
  readonly graph?: string;
  readonly time: number;
  readonly seed: number;
  readonly settings?: string;
  readonly output: Format;
}

interface Looked {
  readonly world: World;
  readonly prices: PriceTable;
  /** Objects that decide about moves; null: unknown from files without controllers. */
  readonly moved: MovedBy | null;
}

/** Prints a change's effect on placement, latency and bill. Read-only. */
export async function whatIfCommand(options: WhatIfOptions, print: Print): Promise<void> {
  const { drain, loseZone, scale, move, slow, seed, time } = options;
  const change: Change = { drain, loseZones: loseZone, scale, move, slow };
  const planning = await planningOf(options);
  const newPrices = options.prices === undefined ? {} : { newPrices: await pricesOf(options.prices) };
  const read = async (): Promise<View> => {
    const { world, prices, moved } = await look(options);
    const { rules, ...limits } = planning;
    const { obstaclesOf } = await import("../moves/obstacles.ts");
    const obstacleOf = moved && (await obstaclesOf(moved, rules ?? (await rulesOf(options))));
    const found = asked(() =>
      whatIf({
        ...limits,
        ...(obstacleOf === null ? {} : { obstacleOf }),
        world: onlyOf(world, options.namespace),
        change,
        prices,
        ...newPrices,
        seed,
        budgetMs: time,
        now: () => performance.now(),
      }),
    );
    return viewOf<WhatIf>(found, { text: whatIfText });
  };
  await show(read, options, print);
}

function asked(ask: () => WhatIf): WhatIf {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ChangeError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

async function pricesOf(file: string): Promise<PriceTable> {
  return (await import("@isochrone/aggregator")).loadPrices(file);
}

function onlyOf(world: World, namespace: string | undefined): World {
  if (namespace === undefined) return world;
  const workflows = world.workflows.filter((workflow) => workflow.namespace === namespace);
  if (workflows.length === 0)
    throw new CommandError(`--namespace must have a workflow, got ${JSON.stringify(namespace)}`);
  return { ...world, workflows };
}

async function look(options: WhatIfOptions): Promise<Looked> {
  const { cluster, graph } = options;
  if (cluster === undefined && graph === undefined) return lookAtCluster(options);
  if (cluster === undefined || graph === undefined)
    throw usageError(
      `--cluster and --graph must be given together, got only ${cluster === undefined ? "--graph" : "--cluster"}`,
    );
  const [{ dumpWorld }, { DUMP_BYTES }, { readTextFile }] = await Promise.all([
    import("./dump-world.ts"),
    import("../score/read-objects.ts"),
    import("@isochrone/runtime"),
  ]);
  const text = (file: string): string => readTextFile(file, DUMP_BYTES);
  const { world, moved } = dumpWorld(
    { text: text(cluster), file: cluster },
    { text: text(graph), file: graph },
  );
  return { world, prices: PriceTable.of(null), moved };
}

async function lookAtCluster(options: WhatIfOptions): Promise<Looked> {
  const client = graphClientOf(options);
  const [objects, { value: cluster }, { graphs }, services, prices] = await Promise.all([
    readCluster(options, SCORED_BY),
    client.cluster(),
    client.workflowChanges(null),
    orOfEarlierRelease(async () => (await client.demand()).value.services, []),
    orOfEarlierRelease(() => listed(client), PriceTable.of(null)),
  ]);
  return { world: { objects, cluster, workflows: graphs, demand: { services } }, prices, moved: objects };
}

/** The running service's rules; null: from files, or no answer. */
async function rulesOf(options: WhatIfOptions): Promise<ExclusionRules | null> {
  return options.cluster === undefined ? (await proposedMoves(options.namespace ?? "", options)).rules : null;
}

async function listed(client: GraphClient): Promise<PriceTable> {
  return listedPrices((await client.prices()).value);
}

async function orOfEarlierRelease<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GraphClientError && error.status === 404) return otherwise;
    throw error;
  }
}
