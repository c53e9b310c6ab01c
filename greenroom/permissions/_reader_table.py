"""Programs that only read, with the options under which that is certain.

Sources: the manual pages of GNU coreutils 9, findutils 4.9, grep 3.8, diffutils 3.8, util-linux 2.38, ripgrep 14, fd 9, tree 2 and
file 5, beside those of the BSDs where an option means something else there. What is left out on purpose: options that follow
links while walking (`ls -L`, `grep -R`, `rg -L`, `du -L`, `tree -l`), that write (`sort -o`, `tree -o`), that run a program
(`rg --pre`, `sort --compress-program`, `diff -l`), that take names of files from elsewhere (`--files0-from`, `md5sum -c`,
`file -f`), and that never end (`tail -f`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.permissions._options import Operands, Spec, names, read_spec

_TABLE: Final[tuple[tuple[str, Operands, str], ...]] = (
    (
        "ls dir vdir",
        "paths",
        (
            "-aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author --escape --block-size= --ignore-backups "
            "--color=? --directory --classify=? --file-type --format= --full-time --group-directories-first --no-group "
            "--human-readable --si --hide= --hyperlink=? --indicator-style= --inode --ignore= --kibibytes --numeric-uid-gid "
            "--literal --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive --size "
            "--sort= --time= --time-style= --tabsize= --width= --context --zero --version --help"
        ),
    ),
    (
        "cat",
        "paths",
        (
            "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting "
            "--version --help"
        ),
    ),
    ("tac", "paths", "-br -s: --before --regex --separator= --version --help"),
    (
        "head tail",
        "paths",
        "-qvz -c: -n: -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --version --help",
    ),
    ("wc", "paths", "-cmlLw --bytes --chars --lines --max-line-length --words --total= --version --help"),
    (
        "nl",
        "paths",
        (
            "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering= --number-format= --number-separator= --number-width= "
            "--starting-line-number= --line-increment="
        ),
    ),
    ("rev", "paths", "-0"),
    ("fold", "paths", "-bs -w: --bytes --spaces --width="),
    ("expand", "paths", "-i -t: --initial --tabs="),
    ("unexpand", "paths", "-a -t: --all --first-only --tabs="),
    ("fmt", "paths", "-cstu -w: -p: -g: --width= --prefix= --uniform-spacing --split-only"),
    ("paste", "paths", "-sz -d: --serial --delimiters= --zero-terminated"),
    (
        "column",
        "paths",
        (
            "-tnx -c: -s: -o: -N: -R: -H: -E: --table --separator= --output-separator= --output-width= --table-columns= "
            "--fillrows --table-right= --table-hide="
        ),
    ),
    ("join", "paths", "-iz -a: -e: -j: -o: -t: -v: -1: -2: --header --ignore-case --check-order --nocheck-order"),
    (
        "comm",
        "paths",
        "-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated",
    ),
    (
        "cmp",
        "paths",
        "-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent",
    ),
    (
        "sort",
        "paths",
        (
            "-bdfghiMnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
            "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= "
            "--version-sort --batch-size= --check=? --debug --key= --merge --buffer-size= --stable --field-separator= "
            "--parallel= --unique --zero-terminated --version --help"
        ),
    ),
    (
        "uniq",
        "path",
        (
            "-cdDiuz -f: -s: -w: --count --repeated --all-repeated=? --skip-fields= --group=? --ignore-case --skip-chars= "
            "--unique --zero-terminated --check-chars="
        ),
    ),
    (
        "cut",
        "paths",
        (
            "-nsz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited "
            "--output-delimiter= --zero-terminated"
        ),
    ),
    ("tr", "text", "-cCdst --complement --delete --squeeze-repeats --truncate-set1"),
    (
        "diff",
        "paths",
        (
            "-abBcdeEinNpPqrstTuwyZ -# -U: -C: -I: -L: -W: -x: -F: -S: -D: -X@ --brief --unified=? --context=? --color=? "
            "--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space "
            "--ignore-blank-lines --ignore-matching-lines= --report-identical-files --side-by-side --width= --left-column "
            "--suppress-common-lines --recursive --no-dereference --exclude= --exclude-from=@ --label= --new-file "
            "--unidirectional-new-file --text --minimal --speed-large-files --strip-trailing-cr --expand-tabs --initial-tab "
            "--show-c-function --show-function-line= --ed --rcs --normal --ifdef= --starting-file= --from-file=@ --to-file=@ "
            "--palette= --tabsize= --horizon-lines= --version --help"
        ),
    ),
    ("stat", "paths", "-ft -c: --format= --printf= --file-system --terse --version --help"),
    (
        "du",
        "paths",
        (
            "-0abchklmsSx -d: -t: -B: --all --apparent-size --block-size= --bytes --total --max-depth= --human-readable --inodes "
            "--separate-dirs --si --summarize --threshold= --time=? --time-style= --exclude= --one-file-system --null "
            "--no-dereference --version --help"
        ),
    ),
    ("df", "paths", "-ahHiklPT -B: -t: -x: --all --human-readable --inodes --local --print-type --total --si --type="),
    (
        "file",
        "paths",
        "-0bhiknNpr -F: --brief --mime --mime-type --mime-encoding --extension --separator= --no-dereference",
    ),
    (
        "tree",
        "paths",
        (
            "-aACdDfFghiJnNpqQrsStuUvxX -L: -P: -I: --dirsfirst --filesfirst --noreport --du --filelimit= --prune --si --inodes "
            "--device --matchdirs --ignore-case --charset= --sort= --timefmt= --gitignore --version --help"
        ),
    ),
    ("basename", "text", "-az -s: --multiple --suffix= --zero"),
    ("dirname", "text", "-z --zero"),
    (
        "realpath",
        "paths",
        (
            "-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks --zero "
            "--relative-to=@ --relative-base=@"
        ),
    ),
    (
        "readlink",
        "paths",
        (
            "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose "
            "--zero"
        ),
    ),
    (
        "date",
        "text",
        "-uR -I? -d: -r@ --date= --utc --universal --iso-8601=? --rfc-3339= --rfc-email --reference=@ --version --help",
    ),
    ("whoami logname arch", "none", "--version --help"),
    ("id", "text", "-agGnruz --group --groups --name --real --user --zero"),
    ("groups", "text", ""),
    ("hostname", "none", "-AdfiIs --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short"),
    (
        "uname",
        "none",
        (
            "-amnioprsv --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor "
            "--hardware-platform --operating-system"
        ),
    ),
    ("uptime", "none", "-ps --pretty --since"),
    ("nproc", "none", "--all --ignore="),
    ("tty", "none", "-s --silent --quiet"),
    ("seq", "text", "-w -f: -s: --format= --separator= --equal-width -#"),
    (
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum",
        "paths",
        "-btz -a: -l: --binary --text --tag --zero --algorithm= --length=",
    ),
    ("xxd", "path", "-abeiEpuC -c: -g: -l: -o: -s:"),
    (
        "od",
        "paths",
        "-abcdDefFhHiIlLoOsvxX -A: -j: -N: -t: -S: -w? --address-radix= --skip-bytes= --read-bytes= --format=",
    ),
    ("hexdump hd", "paths", "-bcCdovx -e: -n: -s:"),
    ("strings", "paths", "-afowU -# -n: -t: -e: --all --print-file-name --bytes= --radix= --encoding="),
    (
        "grep egrep fgrep",
        "pattern",
        (
            "-abcEFGhHiIlLnoPqrsTUvVwxyzZ -# -A: -B: -C: -m: -e: -d: -D: -f@ --extended-regexp --fixed-strings --basic-regexp "
            "--perl-regexp --regexp= --file=@ --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count "
            "--color=? --colour=? --files-without-match --files-with-matches --max-count= --only-matching --quiet --silent "
            "--no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab --null "
            "--after-context= --before-context= --context= --group-separator= --no-group-separator --text --binary-files= "
            "--devices= --directories= --exclude= --exclude-from=@ --exclude-dir= --include= --recursive --line-buffered "
            "--null-data --version --help"
        ),
    ),
    (
        "rg",
        "pattern",
        (
            "-.0acFhHiIlnNopPqsSuUvVwx -A: -B: -C: -d: -e: -E: -f@ -g: -j: -m: -M: -r: -t: -T: --after-context= "
            "--before-context= --context= --regexp= --file=@ --glob= --iglob= --type= --type-not= --type-list --type-add= "
            "--type-clear= --sort= --sortr= --max-depth= --max-count= --max-columns= --max-columns-preview --max-filesize= "
            "--files --files-with-matches --files-without-match --count --count-matches --include-zero --line-number "
            "--no-line-number --heading --no-heading --ignore-case --smart-case --case-sensitive --hidden --no-hidden "
            "--no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-ignore-exclude "
            "--unrestricted --word-regexp --line-regexp --fixed-strings --pcre2 --engine= --auto-hybrid-regex --multiline "
            "--multiline-dotall --only-matching --replace= --color= --colors= --json --stats --vimgrep --column --no-column "
            "--trim --null --null-data --text --binary --invert-match --quiet --passthru --passthrough --pretty --no-messages "
            "--encoding= --threads= --one-file-system --with-filename --no-filename --byte-offset --crlf --no-config "
            "--no-follow --path-separator= --context-separator= --field-match-separator= --field-context-separator= "
            "--glob-case-insensitive --ignore-file-case-insensitive --no-unicode --version --help"
        ),
    ),
    (
        "fd fdfind",
        "pattern",
        (
            "-HIusigFapl01qV -t: -e: -d: -E: -S: -c: --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive "
            "--ignore-case --glob --regexp --fixed-strings --absolute-path --full-path --list-details --type= --extension= "
            "--max-depth= --min-depth= --exact-depth= --exclude= --size= --changed-within= --changed-before= --color= --print0 "
            "--quiet --max-results= --prune --strip-cwd-prefix --version --help"
        ),
    ),
    ("pwd", "none", "-LP"),
    ("type", "names", "-aftpP"),
    ("which", "names", "-as --all"),
)

READERS: Final[Mapping[str, Spec]] = {
    name: read_spec(operands, options) for names, operands, options in _TABLE for name in names.split()
}
"""By program."""

FIND_FLAGS: Final = names(
    "-daystart -depth -d -empty -executable -false -ignore_readdir_race -ls -mount -nogroup -noleaf -nouser -nowarn -print "
    "-print0 -prune -quit -readable -true -warn -writable -xdev -o -or -a -and -not ! ( ) ,"
)
FIND_TEXTS: Final = names(
    "-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth "
    "-mindepth -mmin -mtime -name -path -perm -printf -regex -regextype -size -type -uid -used -user -wholename -xtype"
)
FIND_PATHS: Final = names("-anewer -cnewer -newer -samefile")
"""The words of an expression of `find` (findutils 4.9, BSD): what it reads, beside the folders, are the files behind FIND_PATHS."""

VERSIONS: Final = names("python python3 node npm git gcc make docker java ruby perl bash")
"""Programs that take nothing from the project to print their version; those that change it by project (`cargo`, `yarn`) do."""

NO_PATTERNS: Final = names("arch basename date dirname hostname id nproc pwd seq uname uptime wc whoami")
"""Programs whose output holds no pattern of file names, unless they are told one."""
