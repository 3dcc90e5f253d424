// Weights as JSON: version, origin, shapes, hash, and base64 of 32-bit floats. A reader states its net and
// refuses mismatches.
import { createHash } from "node:crypto";
import { isList, looseFields } from "@isochrone/primitives";
import { WeightsError } from "./errors.ts";

const FORMAT = "isochrone-weights";
const VERSION = 1;
const BYTES = 4;

export interface NamedArray {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

interface WeightsFile {
  readonly kind: string;
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  readonly arrays: readonly NamedArray[];
}

interface WantedWeights {
  readonly subject: string;
  readonly kind: string;
  readonly arrays: readonly NamedArray[];
}

export function writeWeights({ kind, settings, arrays }: WeightsFile): string {
  const bytes = Buffer.concat(arrays.map(({ values }) => littleEndian(values)));
  const file = {
    format: FORMAT,
    version: VERSION,
    kind,
    settings,
    shapes: Object.fromEntries(arrays.map(({ name, shape }) => [name, shape])),
    sha256: hashOf(bytes),
    values: bytes.toString("base64"),
  };
  return `${JSON.stringify(file, null, 1)}\n`;
}

/**
 * Loads weights into a net's arrays and returns the file's settings. Throws WeightsError, leaving the arrays
 * unchanged, for a damaged or mismatching file.
 */
export function readWeights(text: string, wanted: WantedWeights): WeightsFile["settings"] {
  const { subject, kind, arrays } = wanted;
  const file = parsed(text, subject);
  if (file.format !== FORMAT)
    throw new WeightsError("not_weights", `${subject}: format`, `must be ${FORMAT}`, file.format);
  if (file.version !== VERSION)
    throw new WeightsError("other_version", `${subject}: version`, `must be ${VERSION}`, file.version);
  if (file.kind !== kind)
    throw new WeightsError("other_kind", `${subject}: kind`, `must be ${kind}`, file.kind);
  checkShapes(subject, looseFields<Record<string, unknown>>(file.shapes), arrays);
  const bytes = bytesOf(subject, file, sizeOf(arrays) * BYTES);
  const read = numbersOf(subject, bytes, arrays);
  for (const [at, { values }] of arrays.entries()) values.set(read[at]!);
  return settingsOf(file.settings);
}

type Fields = "format" | "version" | "kind" | "settings" | "shapes" | "sha256" | "values";
type Parsed = Partial<Record<Fields, unknown>>;

function parsed(text: string, subject: string): Parsed {
  try {
    return looseFields<Record<Fields, unknown>>(JSON.parse(text));
  } catch {
    throw new WeightsError("not_weights", subject, "must be JSON", JSON.stringify(text.slice(0, 20)));
  }
}

function checkShapes(
  subject: string,
  shapes: Partial<Record<string, unknown>>,
  arrays: readonly NamedArray[],
): void {
  const found = new Map(Object.entries(shapes));
  for (const { name, shape } of arrays) {
    const got = found.get(name);
    if (!isList(got) || got.join(" x ") !== shape.join(" x "))
      throw new WeightsError(
        "other_shape",
        `${subject}: shape of ${name}`,
        `must be ${shape.join(" x ")}`,
        isList(got) ? got.join(" x ") : got,
      );
    found.delete(name);
  }
  const [extra] = found.keys();
  if (extra !== undefined)
    throw new WeightsError("other_shape", `${subject}: shapes`, "must be those of the net", extra);
}

function bytesOf(subject: string, { values, sha256 }: Parsed, length: number): Buffer {
  const bytes = Buffer.from(typeof values === "string" ? values : "", "base64");
  if (bytes.length !== length)
    throw new WeightsError("damaged", `${subject}: values`, `must have ${length} bytes`, bytes.length);
  const hash = hashOf(bytes);
  if (hash !== sha256)
    throw new WeightsError("damaged", `${subject}: sha256`, `must be that of the values (${hash})`, sha256);
  return bytes;
}

function numbersOf(subject: string, bytes: Buffer, arrays: readonly NamedArray[]): Float32Array[] {
  let from = 0;
  return arrays.map(({ name, values }) => {
    const read = new Float32Array(values.length);
    for (let at = 0; at < read.length; at++, from += BYTES) {
      const value = bytes.readFloatLE(from);
      if (!Number.isFinite(value))
        throw new WeightsError("damaged", `${subject}: ${name}[${at}]`, "must be a finite number", value);
      read[at] = value;
    }
    return read;
  });
}

function settingsOf(value: unknown): WeightsFile["settings"] {
  const settings: Record<string, string | number | boolean> = {};
  for (const [name, one] of Object.entries(looseFields<Record<string, unknown>>(value)))
    if (typeof one === "string" || typeof one === "number" || typeof one === "boolean") settings[name] = one;
  return settings;
}

function sizeOf(arrays: readonly NamedArray[]): number {
  return arrays.reduce((sum, { values }) => sum + values.length, 0);
}

function littleEndian(values: Float32Array): Buffer {
  const bytes = Buffer.alloc(values.length * BYTES);
  for (const [at, value] of values.entries()) bytes.writeFloatLE(value, at * BYTES);
  return bytes;
}

function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
