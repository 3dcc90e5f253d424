import { LabClient, LabClientError, readControlToken, type LinkChange } from "@isochrone/lab";
import { usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { matrix, table } from "../output/table.ts";

export interface LabOptions {
  readonly lab: string;
  readonly output: Format;
}

export interface LinkOptions extends LabOptions {
  readonly delay?: number;
  readonly jitter?: number;
  readonly loss?: number;
  readonly bandwidth?: number;
  readonly cut?: boolean;
  readonly heal?: boolean;
  readonly oneWay?: boolean;
}

type Print = (text: string) => void;

/** Changes what the emulator does to the packets between two nodes. */
export async function labLinkCommand(
  a: string,
  b: string,
  options: LinkOptions,
  print: Print,
): Promise<void> {
  if (options.cut === true && options.heal === true) throw usageError("--cut and --heal can't go together");
  const change: LinkChange = {
    rttMs: options.delay,
    jitterMs: options.jitter,
    lossRatio: options.loss,
    bandwidthBitsPerSecond: options.bandwidth,
    cut: options.cut === true ? true : options.heal === true ? false : undefined,
  };
  if (Object.values(change).every((value) => value === undefined))
    throw usageError("say what to change: --delay, --jitter, --loss, --bandwidth, --cut or --heal");
  const lab = new LabClient(options.lab, { token: await readControlToken(options.lab, process.env) });
  const links = await asked(lab.setLink(a, b, change, { oneWay: options.oneWay ?? false }));
  const rows = links.map(({ source, target, link }) => [
    `${source} -> ${target}`,
    link.cut ? "cut" : link.rttMs,
    link.jitterMs,
    link.lossRatio,
    link.bandwidthBitsPerSecond === null ? "unlimited" : link.bandwidthBitsPerSecond / 1e6,
  ]);
  print(
    formatted(options.output, { links }, () =>
      table(["link", "round trip ms", "jitter ms", "loss", "bandwidth Mbit/s"], rows),
    ),
  );
}

/** What the emulator refuses as a value is one that the option can't have. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof LabClientError && error.status === 400)
      throw usageError(error.message, { cause: error });
    throw error;
  }
}

/** Prints the emulator's truth. */
export async function labMatrixCommand(options: LabOptions, print: Print): Promise<void> {
  const truth = await new LabClient(options.lab).matrix();
  const row = new Map(truth.nodes.map((name, index) => [name, index]));
  const cell = (source: string, target: string): string =>
    truth.rttMs[row.get(source)!]![row.get(target)!]?.toFixed(1) ?? "cut";
  const { nodes, rttMs } = truth;
  print(formatted(options.output, { nodes, rttMs }, () => matrix(nodes, cell)));
}

/** A node of the embedded cluster dies, until the cluster ends. */
export async function labKillCommand(node: string, options: LabOptions, print: Print): Promise<void> {
  const lab = new LabClient(options.lab, { token: await readControlToken(options.lab, process.env) });
  await asked(lab.killNode(node));
  print(formatted(options.output, { node }, () => `${node} is down; its pods start elsewhere in a moment`));
}

/** Prints the objects of the embedded cluster, as kubectl would print those of another one. */
export async function labObjectsCommand(options: LabOptions, print: Print): Promise<void> {
  const lab = new LabClient(options.lab, { token: await readControlToken(options.lab, process.env) });
  const list = (await lab.objects()) as KubernetesList;
  const rows = list.items.map(({ kind, metadata: { namespace = null, name } }) => [kind, namespace, name]);
  print(formatted(options.output, list, () => table(["kind", "namespace", "name"], rows)));
}

interface KubernetesList {
  readonly items: readonly {
    readonly kind: string;
    readonly metadata: { readonly namespace?: string; readonly name: string };
  }[];
}

/** Prints what the emulator did to the packets that passed. */
export async function labRecordCommand(
  options: LabOptions & { readonly last: number },
  print: Print,
): Promise<void> {
  const { pairs } = await asked(new LabClient(options.lab).record(options.last));
  const rows = pairs.map(({ source, target, udp, tcp }) => [
    `${source} -> ${target}`,
    udp.count,
    udp.p50Ms,
    udp.p90Ms,
    udp.dropped,
    tcp.count,
    tcp.p50Ms,
    tcp.p90Ms,
  ]);
  print(
    formatted(options.output, { pairs }, () =>
      table(
        ["pair", "UDP exchanges", "p50 ms", "p90 ms", "dropped", "TCP exchanges", "p50 ms", "p90 ms"],
        rows,
      ),
    ),
  );
}
