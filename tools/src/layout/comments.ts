import type { SourceText } from "./source-text.ts";

/** Words that point at something instead of naming it. */
const VAGUE_OPENING = /^[\s/*]*(?:Of|By|What|Whose|Where|Those|Which)\b/;

/** Lines that hold nothing but a comment. */
export function countCommentLines(text: string, { code }: SourceText): number {
  const codeLines = code.split("\n");
  return text.split("\n").filter((line, index) => line.trim() !== "" && codeLines[index]!.trim() === "")
    .length;
}

/** Numbers of lines where a comment begins with a vague word. Consecutive `//` lines are one comment. */
export function vagueComments(text: string, { comments }: SourceText): number[] {
  return comments.flatMap(({ start, end }, index) => {
    const previous = comments[index - 1];
    const isContinued =
      previous !== undefined &&
      text.startsWith("//", start) &&
      text.startsWith("//", previous.start) &&
      text.slice(previous.end, start).trim() === "";
    if (isContinued || !VAGUE_OPENING.test(text.slice(start, end))) return [];
    return [text.slice(0, start).split("\n").length];
  });
}
