import { bad, makeSetting, within } from "./setting.ts";
import type { Bounds, JsonSchema, OrNull, Setting, SettingOptions } from "./setting.ts";

interface NumberOptions<D> extends SettingOptions<D> {
  readonly min?: number;
  readonly max?: number;
}

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*([a-z]*)$/i;

const DURATION_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const RATIO_UNITS: Readonly<Record<string, number>> = { "%": 0.01 };

const SIZE_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

export function integer<D extends number | null = number>(
  options: NumberOptions<D>,
): Setting<number | OrNull<D>> {
  return makeSetting(options, {
    kind: "integer",
    type: `integer${boundsText(options)}`,
    schema: { type: "integer", ...boundsSchema(options) },
    parse: (raw) => {
      const value = toNumber(raw);
      return value === null || !Number.isSafeInteger(value)
        ? bad("must be an integer")
        : within(value, options);
    },
  });
}

export function number<D extends number | null = number>(
  options: NumberOptions<D>,
): Setting<number | OrNull<D>> {
  return makeSetting(options, {
    kind: "number",
    type: `number${boundsText(options)}`,
    schema: { type: "number", ...boundsSchema(options) },
    parse: (raw) => {
      const value = toNumber(raw);
      return value === null ? bad("must be a number") : within(value, options);
    },
  });
}

/** In [0, 1] or narrower; "20%" is 0.2. */
export function ratio<D extends number | null = number>(
  options: NumberOptions<D>,
): Setting<number | OrNull<D>> {
  const bounds = { min: options.min ?? 0, max: options.max ?? 1 };
  return makeSetting(options, {
    kind: "ratio",
    type: `ratio${boundsText(bounds)}`,
    schema: quantitySchema(bounds, RATIO_UNITS),
    units: RATIO_UNITS,
    parse: (raw) => {
      const value = toRatio(raw);
      return value === null ? bad("must be a ratio such as 0.2 or 20%") : within(value, bounds);
    },
  });
}

/** Milliseconds; the key ends in Ms. Accepts 500, "500ms", "2s", "5m", "1h", "1d". */
export function duration<D extends number | string | null = number>(
  options: NumberOptions<D>,
): Setting<number | OrNull<D>> {
  const bounds = { min: options.min ?? 0, max: options.max };
  return makeSetting(options, {
    kind: "duration",
    type: `duration (ms)${boundsText(bounds)}`,
    schema: quantitySchema(bounds, DURATION_MS),
    units: DURATION_MS,
    keySuffix: "Ms",
    parse: (raw) => {
      const value = toQuantity(raw, DURATION_MS);
      return value === null
        ? bad("must be a duration such as 500, 500ms, 2s, 5m or 1h")
        : within(value, bounds);
    },
  });
}

/** Bytes; the key ends in Bytes. Accepts 1024, "64KiB", "10MiB", "1GB". */
export function bytes<D extends number | string | null = number>(
  options: NumberOptions<D>,
): Setting<number | OrNull<D>> {
  const bounds = { min: options.min ?? 0, max: options.max };
  return makeSetting(options, {
    kind: "bytes",
    type: `size (bytes)${boundsText(bounds)}`,
    schema: { ...quantitySchema(bounds, SIZE_BYTES), multipleOf: 1 },
    units: SIZE_BYTES,
    keySuffix: "Bytes",
    parse: (raw) => {
      const value = toQuantity(raw, SIZE_BYTES);
      if (value === null || !Number.isSafeInteger(value))
        return bad("must be a whole number of bytes such as 1024, 64KiB or 10MiB");
      return within(value, bounds);
    },
  });
}

// The pattern excludes "" (0 for Number) and "0x10" (16), which are mistakes in settings.
function toNumber(raw: unknown): number | null {
  if (typeof raw === "number") return Number.isFinite(raw) ? raw : null;
  if (typeof raw !== "string" || !DECIMAL.test(raw.trim())) return null;
  const value = Number(raw);
  return Number.isFinite(value) ? value : null;
}

function toRatio(raw: unknown): number | null {
  if (typeof raw !== "string" || !raw.trim().endsWith("%")) return toNumber(raw);
  const percent = toNumber(raw.trim().slice(0, -1).trim());
  return percent === null ? null : percent / 100;
}

function toQuantity(raw: unknown, units: Readonly<Record<string, number>>): number | null {
  const plain = toNumber(raw);
  if (plain !== null || typeof raw !== "string") return plain;
  const match = QUANTITY.exec(raw.trim());
  const unit = (match?.[2] ?? "").toLowerCase();
  if (match === null || !Object.hasOwn(units, unit)) return null;
  const value = Number(match[1]) * (units[unit] ?? Number.NaN);
  // 0.1 s is 100 ms, not 100.00000000000001.
  return Number.isFinite(value) ? Number(value.toPrecision(15)) : null;
}

function boundsText({ min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return `, ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return max === undefined ? "" : `, at most ${max}`;
}

function boundsSchema({ min, max }: Bounds): JsonSchema {
  return { ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) };
}

/** A number, or text with a unit, of which only the form is checked. */
function quantitySchema(bounds: Bounds, units: Readonly<Record<string, number>>): JsonSchema {
  const anyCase = (unit: string): string => unit.replaceAll(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}]`);
  const pattern = `^\\s*[+-]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+|\\s*(${Object.keys(units).map(anyCase).join("|")}))?\\s*$`;
  return { type: ["number", "string"], ...boundsSchema(bounds), pattern };
}
