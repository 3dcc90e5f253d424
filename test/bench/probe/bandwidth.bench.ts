// The bandwidth engine on real shapers (tbf): readings, cost, and effect on another stream. Needs root.
import type { ChildProcess } from "node:child_process";
import { NamespaceLab, namespaceLabSupport } from "@isochrone/lab/namespaces";
import type { SenderResult } from "@isochrone/probe/testing";
import { parseAddress, ReceiverThread, sendTest } from "@isochrone/probe/testing";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { BenchResult } from "../types.ts";

const KEY = { id: 1, secret: Buffer.alloc(32, 5) };
const KIB = 1024;
const SHAPES = [
  { mbit: 10, bucketKib: 32 },
  { mbit: 10, bucketKib: 256 },
  { mbit: 100, bucketKib: 32 },
  { mbit: 100, bucketKib: 256 },
  { mbit: 1000, bucketKib: 32 },
  { mbit: 1000, bucketKib: 256 },
  { mbit: 1000, bucketKib: 1024 },
] as const;
const RUNS = 3;
const MAX_BYTES = 256e6;
/** A stream's rate varies, so compare with this time before the test. */
const BEFORE_MS = 3000;
const STREAM_PORT = 7999;

type Transport = "udp" | "tcp";
type Shape = (typeof SHAPES)[number];

export async function run(): Promise<BenchResult[]> {
  const support = await namespaceLabSupport();
  if (!support.supported) {
    console.error(`bandwidth: not measured, ${support.reason}`);
    return [];
  }
  const lab = await NamespaceLab.create({ nodes: ["a", "b"], topology: "direct" });
  const receiver = new ReceiverThread(
    {
      bindAddress: "0.0.0.0",
      port: 0,
      identity: lab.address("b"),
      keys: [KEY],
      acceptTranslatedSource: false,
      maxBytes: MAX_BYTES,
      maxMs: 10_000,
      networkNamespace: lab.namespacePath("b"),
    },
    { clock: systemClock, logger: new MemoryLogger(), onCounts: () => undefined },
  );
  try {
    const port = await receiver.open();
    const results: BenchResult[] = [];
    for (const shape of SHAPES) {
      // A large segment waiting for a bucket larger than the next one would never leave.
      await lab.unshape("a");
      await lab.shape("a", tbf(shape));
      for (const transport of ["udp", "tcp"] as const)
        results.push(...(await quiet(lab, port, shape, transport)));
    }
    for (const shape of SHAPES) {
      // A large segment waiting for a bucket larger than the next one would never leave.
      await lab.unshape("a");
      await lab.shape("a", tbf(shape));
      results.push(...(await besideStream(lab, port, shape)));
    }
    return results;
  } finally {
    await receiver.close();
    await lab.close();
  }
}

const tbf = ({
  mbit,
  bucketKib,
}: Shape): { rateBitsPerSecond: number; burstBytes: number; latencyMs: number } => ({
  rateBitsPerSecond: mbit * 1e6,
  burstBytes: bucketKib * KIB,
  latencyMs: 50,
});

async function quiet(
  lab: NamespaceLab,
  port: number,
  shape: Shape,
  transport: Transport,
): Promise<BenchResult[]> {
  const name = `bandwidth.${transport}.${shape.mbit}mbit.${shape.bucketKib}kib`;
  const errors: number[] = [];
  let bytes = 0;
  let linkMs = 0;
  let skipped = 0;
  for (let i = 0; i < RUNS; i++) {
    const result = await test(lab, port, transport);
    if (result.type !== "done") throw new Error(`${name}: ${JSON.stringify(result)}`);
    const { outcome } = result;
    bytes = Math.max(bytes, outcome.bytes);
    linkMs = Math.max(linkMs, outcome.durationMs);
    const rate = outcome.achievedBitsPerSecond;
    if (rate === null) skipped++;
    else errors.push((rate / (shape.mbit * 1e6) - 1) * 100);
    const read =
      rate === null ? `${outcome.result} (${outcome.reason})` : `${(rate / 1e6).toFixed(2)} Mbit/s`;
    console.error(
      `${name}: true ${shape.mbit}, read ${read}, ${outcome.bytes} bytes, ${outcome.durationMs.toFixed(0)} ms`,
    );
  }
  const worst = errors.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  return [
    ...(errors.length === 0
      ? []
      : [
          {
            name: `${name}.worst_error`,
            value: worst,
            unit: "%",
            target: "+-3 %",
            met: Math.abs(worst) <= 3,
          },
        ]),
    { name: `${name}.link_time`, value: linkMs, unit: "ms", target: "<= 2000 ms", met: linkMs <= 2000 },
    {
      name: `${name}.bytes`,
      value: bytes,
      unit: "bytes",
      target: `<= ${MAX_BYTES}`,
      met: bytes <= MAX_BYTES,
    },
    { name: `${name}.not_told`, value: skipped, unit: `of ${RUNS} tests` },
  ];
}

/** A TCP stream at full rate before and during a test. */
async function besideStream(lab: NamespaceLab, port: number, shape: Shape): Promise<BenchResult[]> {
  const name = `bandwidth.beside_stream.${shape.mbit}mbit.${shape.bucketKib}kib`;
  const sink = lab.spawn("b", process.execPath, ["-e", SINK, String(STREAM_PORT)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stream = lab.spawn("a", process.execPath, ["-e", STREAM, lab.address("b"), String(STREAM_PORT)], {
    stdio: "ignore",
  });
  const received: { readonly atMs: number; readonly bytes: number }[] = [];
  sink.stdout?.on("data", (data) => {
    for (const line of String(data).split("\n").filter(Boolean)) {
      const [atMs = 0, bytes = 0] = line.split(" ").map(Number);
      received.push({ atMs, bytes });
    }
  });
  try {
    const losses: number[] = [];
    let noticed = 0;
    for (let i = 0; i < RUNS; i++) {
      await systemClock.sleep(BEFORE_MS + 500);
      const fromMs = Date.now();
      const result = await test(lab, port, "udp");
      const toMs = Date.now();
      if (result.type === "done" && result.outcome.result === "skipped_busy") noticed++;
      await systemClock.sleep(300);
      const before = rateBetween(received, fromMs - BEFORE_MS, fromMs);
      const during = rateBetween(received, fromMs, toMs);
      losses.push(100 * (1 - during / before));
      const said =
        result.type === "done" ? `${result.outcome.result} (${result.outcome.reason})` : result.type;
      console.error(
        `${name}: ${said}; stream ${before.toFixed(2)} -> ${during.toFixed(2)} Mbit/s in ${toMs - fromMs} ms`,
      );
    }
    const middle = losses.sort((a, b) => a - b)[Math.floor(RUNS / 2)] as number;
    return [
      { name: `${name}.noticed`, value: noticed, unit: `of ${RUNS} tests`, met: noticed === RUNS },
      { name: `${name}.stream_loss`, value: middle, unit: "%", target: "<= 5 %", met: middle <= 5 },
    ];
  } finally {
    await Promise.all([ended(stream), ended(sink)]);
  }
}

function rateBetween(
  received: readonly { atMs: number; bytes: number }[],
  fromMs: number,
  toMs: number,
): number {
  const within = received.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined || first === last) return Number.NaN;
  return ((last.bytes - first.bytes) * 8) / 1000 / (last.atMs - first.atMs);
}

function test(lab: NamespaceLab, port: number, transport: Transport): Promise<SenderResult> {
  return sendTest(
    {
      transport,
      address: lab.address("b"),
      port,
      source: parseAddress(lab.address("a"))!,
      destination: parseAddress(lab.address("b"))!,
      bindAddress: "0.0.0.0",
      keys: [KEY],
      signingKeyId: KEY.id,
      maxBytes: MAX_BYTES,
      maxBitsPerSecond: 10e9,
      maxDurationMs: 1800,
      maxQueueMs: 25,
      dscp: 0,
      networkNamespace: lab.namespacePath("a"),
    },
    systemClock,
    new AbortController().signal,
  );
}

const SINK = `
  let bytes = 0;
  require("node:net").createServer((s) => s.on("data", (d) => { bytes += d.length; }).on("error", () => {})).listen(+process.argv[1]);
  setInterval(() => console.log(Date.now(), bytes), 20);
`;

/** Retries until the sink listens. */
const STREAM = `
  const block = Buffer.alloc(65536);
  const start = () => {
    const socket = require("node:net").connect(+process.argv[2], process.argv[1]);
    const write = () => { while (socket.write(block)); };
    socket.on("connect", write); socket.on("drain", write);
    socket.on("error", () => setTimeout(start, 50));
  };
  start();
`;

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await exit;
}
