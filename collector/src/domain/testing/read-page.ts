import { BYTE, textOf } from "../bytes.ts";
import {
  DEFAULT_LIMITS,
  ExpositionReader,
  type ExpositionLimits,
  type FamilyType,
  type PageFormat,
} from "../exposition.ts";
import { LabelShapes } from "../label-shape.ts";
import { LABEL_RULES, LabelSet } from "../label-set.ts";
import { SampleValue } from "../sample-value.ts";

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestampMs: number | null;
}

interface ReadPage {
  readonly samples: readonly ReadSample[];
  readonly types: Readonly<Record<string, FamilyType>>;
  readonly malformed: number;
  readonly firstFault: string | null;
  readonly recognised: number;
  readonly ended: boolean;
}

interface ReadOptions {
  readonly wants?: (name: string) => boolean;
  readonly limits?: ExpositionLimits;
  readonly format?: PageFormat;
}

export function readPage(chunks: readonly (string | Uint8Array)[], options: ReadOptions = {}): ReadPage {
  const { wants = () => true, limits = DEFAULT_LIMITS, format = "text" } = options;
  const samples: ReadSample[] = [];
  const types: Record<string, FamilyType> = {};
  const labels = new LabelSet(limits.maxLabels);
  const shapes = new LabelShapes(false);
  const value = new SampleValue(format);
  const nameOf = (view: DataView, start: number, end: number): string =>
    textOf(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), start, end);
  const reader = new ExpositionReader<string, string>(
    {
      find(view, start, end) {
        const name = nameOf(view, start, end);
        return wants(name) ? name : null;
      },
      findFamily: nameOf,
      type: (family, type) => void (types[family] = type),
      sample(name, bytes, view, start, end) {
        let after = start;
        if (bytes[start] === BYTE.openBrace) after = labels.read(bytes, view, start, end, shapes.last);
        else labels.clear();
        if (after < 0) return labels.fault;
        if (shapes.of(labels) === null) return LABEL_RULES.twice;
        const rule = value.read(bytes, after, end);
        if (rule !== null) return rule;
        const pairs = Array.from({ length: labels.count }, (_, index) => [
          labels.name(index),
          labels.value(index),
        ]);
        const timestampMs = Number.isNaN(value.timestampMs) ? null : value.timestampMs;
        samples.push({ name, labels: Object.fromEntries(pairs), value: value.value, timestampMs });
        return null;
      },
    },
    limits,
  );
  for (const chunk of chunks) reader.feed(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  reader.end();
  const { malformed, firstFault, recognised, ended } = reader;
  return { samples, types, malformed, firstFault, recognised, ended };
}
