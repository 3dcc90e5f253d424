const FONT_SIZE_PX = 13;
const MOST_WIDTHS = 5000;
const widths = new Map<string, number>();
let context: CanvasRenderingContext2D | null = null;

export function textWidth(text: string): number {
  const known = widths.get(text);
  if (known !== undefined) return known;
  context ??= document.createElement("canvas").getContext("2d")!;
  context.font = `${FONT_SIZE_PX}px ${getComputedStyle(document.body).fontFamily}`;
  const width = Math.ceil(context.measureText(text).width) + 2;
  if (widths.size >= MOST_WIDTHS) widths.clear();
  widths.set(text, width);
  return width;
}
