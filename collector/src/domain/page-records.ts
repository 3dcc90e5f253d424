import { RecordWriter, type Attributes, type MetricShape } from "@isochrone/telemetry";
import { KIND, kindOfOwner, type TargetMemory } from "./target-memory.ts";

const MAX_POINTS_PER_RECORD = 400;
/** A record closes above this size; plus the longest point it stays below the bus' 1 MiB. */
const MAX_RECORD_BYTES = 524_288;

const SCOPE = { name: "isochrone.collector" };
const KIND_NAMES = { [KIND.gauge]: "gauge", [KIND.counter]: "sum", [KIND.histogram]: "histogram" } as const;

export function writeRecords(memory: TargetMemory, resource: Attributes): Uint8Array[] {
  const writer = new RecordWriter(resource, SCOPE);
  const records: Uint8Array[] = [];
  const finish = (): void => {
    const record = writer.finish();
    if (record !== null) records.push(record);
  };
  for (const [owner, slots] of slotsByOwner(memory)) {
    const shape = shapeOf(memory, owner);
    writer.beginMetric(shape);
    for (const slot of slots) {
      if (writer.points >= MAX_POINTS_PER_RECORD || writer.size >= MAX_RECORD_BYTES) {
        writer.endMetric();
        finish();
        writer.beginMetric(shape);
      }
      writePoint(writer, memory, shape, slot);
    }
    writer.endMetric();
  }
  finish();
  return records;
}

function slotsByOwner({ series }: TargetMemory): [number, number[]][] {
  const byOwner = new Map<number, number[]>();
  for (let slot = 0; slot < series.keys.size; slot++) {
    if (series.rows[slot] === 0) continue;
    const owner = series.keys.ownerOf(slot);
    const slots = byOwner.get(owner);
    if (slots === undefined) byOwner.set(owner, [slot]);
    else slots.push(slot);
  }
  return [...byOwner].sort(([a], [b]) => a - b);
}

function shapeOf({ families }: TargetMemory, owner: number): MetricShape {
  const { name } = families[owner >> 2]!;
  return { name, unit: unitOf(name), kind: KIND_NAMES[kindOfOwner(owner)] };
}

function unitOf(name: string): string {
  if (/_bytes(_total)?$/.test(name)) return "By";
  return /_seconds(_total)?$/.test(name) ? "s" : "1";
}

function writePoint(writer: RecordWriter, { series }: TargetMemory, shape: MetricShape, slot: number): void {
  const attributes = series.attributesOf(slot);
  const startMs = series.startMs[slot]!;
  const timeMs = series.timeMs[slot]!;
  if (shape.kind !== "histogram") return writer.number(startMs, timeMs, series.totalA[slot]!, attributes);
  const data = { count: series.totalA[slot]!, sum: series.totalB[slot]!, ...series.buckets.get(slot) };
  writer.histogram(startMs, timeMs, data, attributes);
}
