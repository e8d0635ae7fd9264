// Characters, words and sentences by their signs alone, for browsers without Intl.Segmenter. In scripts
// without spaces each character is a word, since only a dictionary knows more.

const MARKS = String.raw`[\p{M}\p{EMod}]*`;
const CLUSTER = String.raw`(?:\r\n|\p{RI}{2}|[^]${MARKS}(?:\u200d[^]${MARKS})*)`;
const SPACELESS = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]`;
const LETTER = String.raw`(?:(?!${SPACELESS})[\p{L}\p{N}_])[\p{M}\u200c\u200d]*`;
const ENDS = ".!?…。！？؟";

/** @type {Record<Intl.SegmenterOptions["granularity"] & string, string>} */
const PATTERNS = {
  grapheme: CLUSTER,
  word: `${SPACELESS}${MARKS}|(?:${LETTER})+(?:['’.](?:${LETTER})+)*|${CLUSTER}`,
  sentence: String.raw`[^\n${ENDS}]*[${ENDS}]+["'”’)\]]*[^\S\n]*|[^\n${ENDS}]+\n?|\n`,
};

export class PlainSegmenter {
  /**
   * @param {undefined} _locale
   * @param {{granularity: "grapheme" | "word" | "sentence"}} options
   */
  constructor(_locale, { granularity }) {
    this.pattern = PATTERNS[granularity];
  }

  /** @param {string} text */
  segment(text) {
    return {
      // Segments never go over the end of a line, so reading begins at that of the line before.
      containing: (/** @type {number} */ offset) => {
        if (!(offset >= 0 && offset < text.length)) return undefined;
        const segments = new RegExp(this.pattern, "gu");
        segments.lastIndex = text.lastIndexOf("\n", offset - 1) + 1;
        for (let found = segments.exec(text); found; found = segments.exec(text)) {
          const [segment] = found;
          if (found.index + segment.length > offset)
            return { segment, index: found.index, isWordLike: /^[\p{L}\p{N}_]/u.test(segment) };
        }
        return undefined;
      },
    };
  }
}
