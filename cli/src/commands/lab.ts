import { LabClient, LabClientError, readControlToken, type LinkChange } from "@isochrone/lab/client";
import { usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { heatMatrix } from "../output/heat-matrix.ts";
import type { PairFigure } from "../output/heat-matrix.ts";
import { canvasOn } from "../output/heat.ts";
import type { Canvas } from "../output/heat.ts";
import { naturally } from "@isochrone/primitives";
import type { Print } from "../output/show.ts";
import { matrix, table } from "../output/table.ts";

interface LabOptions {
  readonly lab: string;
  readonly output: Format;
}

interface LinkOptions extends LabOptions {
  readonly delay?: number;
  readonly jitter?: number;
  readonly loss?: number;
  readonly bandwidth?: number;
  readonly cut?: boolean;
  readonly heal?: boolean;
  readonly oneWay?: boolean;
}

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

/** Maps values that the emulator refuses to usage errors. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof LabClientError && error.status === 400)
      throw usageError(error.message, { cause: error });
    throw error;
  }
}

export async function labMatrixCommand(options: LabOptions, print: Print): Promise<void> {
  const { nodes, rttMs } = await new LabClient(options.lab).matrix();
  const canvas = options.output === "table" ? canvasOn(process.stdout) : null;
  print(
    formatted(options.output, { nodes, rttMs }, (shown) => truthText(shown, canvas)),
    canvas !== null,
  );
}

type Truth = Pick<Awaited<ReturnType<LabClient["matrix"]>>, "nodes" | "rttMs">;

function truthText({ nodes, rttMs }: Truth, canvas: Canvas | null): string {
  const row = new Map(nodes.map((name, index) => [name, index]));
  const figureOf = (source: string, target: string): PairFigure => {
    const ms = rttMs[row.get(source)!]![row.get(target)!] ?? null;
    return { ms, text: ms?.toFixed(1) ?? "cut" };
  };
  const names = nodes.toSorted(naturally);
  return canvas === null
    ? matrix(names, (source, target) => figureOf(source, target).text)
    : heatMatrix(names, figureOf, canvas);
}

export async function labKillCommand(node: string, options: LabOptions, print: Print): Promise<void> {
  const lab = new LabClient(options.lab, { token: await readControlToken(options.lab, process.env) });
  await asked(lab.killNode(node));
  print(formatted(options.output, { node }, () => `${node} is down; its pods start elsewhere in a moment`));
}

export async function labObjectsCommand(options: LabOptions, print: Print): Promise<void> {
  const lab = new LabClient(options.lab, { token: await readControlToken(options.lab, process.env) });
  const list = await lab.objects();
  const rows = list.items.map(({ kind, metadata: { namespace = null, name } }) => [kind, namespace, name]);
  print(formatted(options.output, list, () => table(["kind", "namespace", "name"], rows)));
}

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
