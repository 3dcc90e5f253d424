// Forbids second definitions of what packages/primitives and packages/runtime provide.

interface Rule {
  readonly names?: RegExp;
  readonly shape?: RegExp;
  readonly places: readonly string[];
  readonly use: string;
}

const PRIMITIVES = "packages/primitives/src";

const RULES: readonly Rule[] = [
  {
    names: /^(upperM|m)edian(Of|Absolute)?$|^(quantile|percentile|nearestRank)(Of|OfSorted)?$/,
    places: [
      `${PRIMITIVES}/statistics.ts`,
      // Works on bucket counts.
      "packages/telemetry/src/distribution.ts",
      // These write the PromQL function.
      "tools/src/dashboards/decisions.ts",
      "tools/src/dashboards/health.ts",
    ],
    use: "median, upperMedian, quantile and nearestRank of @isochrone/primitives",
  },
  {
    shape: /\b(\w+)\[\1\.length >>>? 1\]/,
    places: [`${PRIMITIVES}/statistics.ts`],
    use: "upperMedian of @isochrone/primitives",
  },
  {
    names: /^[A-Z]\w*Heap$/,
    places: [`${PRIMITIVES}/heap.ts`],
    use: "MinHeap or NumberHeap of @isochrone/primitives",
  },
  {
    names: /TokenBucket$/,
    places: [`${PRIMITIVES}/token-bucket.ts`],
    use: "TokenBucket of @isochrone/primitives",
  },
  {
    names: /^parse(Quantity|Memory|Cpu|Bytes|Millicores|Bandwidth|BitsPerSecond|Decimal|Amount)/,
    places: [`${PRIMITIVES}/quantity.ts`],
    use: "the parsers of quantities of @isochrone/primitives",
  },
  {
    names: /^(mulberry|seeded)/i,
    places: [
      `${PRIMITIVES}/seeded.ts`,
      // Generates the same numbers behind the port of randomness.
      "packages/runtime/src/random.ts",
    ],
    use: "seeded of @isochrone/primitives or seededRandom of @isochrone/runtime",
  },
  {
    shape: /0x6d2b_?79f5/i,
    places: [`${PRIMITIVES}/seeded.ts`],
    use: "seeded of @isochrone/primitives",
  },
  {
    names: /^(messageOf|errorMessage|errorText)$/,
    places: [],
    use: "reasonOf of @isochrone/primitives",
  },
  {
    shape: /\binstanceof Error \? \w+\.message : String\(/,
    places: [],
    use: "reasonOf of @isochrone/primitives",
  },
  {
    names: /^(isRecord|isPlainRecord)$/,
    places: [`${PRIMITIVES}/fields.ts`],
    use: "isRecord of @isochrone/primitives",
  },
  {
    names: /^(codeOf|errorCode)$/,
    places: [`${PRIMITIVES}/errors.ts`],
    use: "codeOf of @isochrone/primitives",
  },
  {
    shape: /\bas NodeJS\.ErrnoException\b/,
    places: [],
    use: "codeOf of @isochrone/primitives",
  },
  {
    names: /^(delayMs|backoffMs)$/i,
    places: [
      `${PRIMITIVES}/backoff.ts`,
      // With jitter, which needs the port of randomness.
      "packages/runtime/src/backoff.ts",
    ],
    use: "backoffMs of @isochrone/primitives or delayMs of @isochrone/runtime",
  },
];

const FUNCTION_OR_CLASS = /\b(?:function\*?|class)\s+([\w$]+)/g;
const ARROW = /\bconst\s+([\w$]+)\s*=\s*(?:async\s+)?(?:[\w$]+|\((?:[^()]|\([^()]*\))*\)(?::[^={}]+)?)\s*=>/g;

/**
 * Duplicate definitions as `path:line: name: use …`.
 * @param code of a product file, without comments and contents of strings
 */
export function secondDefinitions(path: string, code: string): string[] {
  const found: { readonly index: number; readonly text: string }[] = [];
  const definitions = [FUNCTION_OR_CLASS, ARROW].flatMap((pattern) => [...code.matchAll(pattern)]);
  for (const { names, shape, places, use } of RULES) {
    if (places.includes(path)) continue;
    if (names !== undefined)
      for (const { index, 1: name = "" } of definitions)
        if (names.test(name)) found.push({ index, text: `${name}: use ${use}` });
    if (shape !== undefined)
      for (const match of code.matchAll(new RegExp(shape, `${shape.flags}g`)))
        found.push({ index: match.index, text: `${match[0]}: use ${use}` });
  }
  return found
    .sort((a, b) => a.index - b.index)
    .map(({ index, text }) => `${path}:${code.slice(0, index).split("\n").length}: ${text}`);
}
