"""Programs that run another one, programs that run a text, and variables whose text is run later.

Sources: the manual pages of bash 5.2, util-linux 2.38, coreutils 9, moreutils, and of each program that is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from greenroom.permissions._options import names

ANYWHERE: Final = 1_000
"""Any word may be the program that is run: too many options take values for a count to help."""

WRAPPERS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        names(
            "time gtime nice gnice nohup gnohup stdbuf gstdbuf command builtin noglob exec env genv xargs gxargs sudo doas watch "
            "setsid strace ltrace busybox toybox parallel sem unbuffer caffeinate setpriv linux32 linux64 i386 i486 i586 i686 "
            "x86_64 ppc ppc32 ppc64 s390 s390x sparc mips uname26 fakeroot ssh-agent dbus-run-session dbus-launch eatmydata "
            "catchsegv rlwrap torsocks torify tsocks proxychains proxychains4 pkexec chronic ifne bear ccache sccache distcc "
            "icecc dumb-init tini catatonit winpty daemonize daemon valgrind xvfb-run systemd-cat systemd-inhibit ts faketime "
            "rr libtree wine box64 box86 nocorrect"
        ),
        0,
    ),
    **dict.fromkeys(
        names(
            "timeout gtimeout flock chrt taskset chroot fakechroot runuser setarch gosu su-exec ssh ionice choom uclampset coresched "
            "setuidgid envdir envuidgid direnv dotenv cpulimit"
        ),
        1,
    ),
    **dict.fromkeys(
        names(
            "bwrap proot firejail nsjail minijail0 unshare nsenter systemd-run systemd-nspawn prlimit gpg-agent gdb lldb perf qemu "
            "start-stop-daemon run-parts schroot cgexec numactl softlimit chpst runcon aa-exec sandbox-exec capsh apptainer "
            "singularity toolbox distrobox flatpak-spawn lxc machinectl docker podman nerdctl kubectl conda mamba poetry pipenv "
            "uv uvx pipx hatch pdm rye bundle rbenv pyenv asdf mise nvm volta op aws-vault npx bunx pnpx npm pnpm yarn bun corepack "
            "nix nix-shell hyperfine concurrently watchexec nodemon entr tmux screen xterm uxterm rxvt urxvt konsole alacritty kitty "
            "gnome-terminal foot st script scriptreplay switch_root pivot_root uftrace heaptrack kcov coverage pee vipe at batch "
            "sg newgrp su inotify-hookable reptyr abduco dtach zellij cmake expect start_udev nodeenv tox nox just task"
        ),
        ANYWHERE,
    ),
}
"""Number of words of its own that a program takes before the command that it runs, options and their values excluded.
"""

SHELLS: Final = names("sh bash dash zsh ksh mksh ash rbash yash fish csh tcsh posh oksh loksh")
JOIN_WORDS: Final = names("watch parallel sem ssh")
"""Programs that give what they run to a shell: the words together, or each for itself."""
COMMAND_OPTION: Final = names("su runuser script flock sg newgrp capsh npx npm nix nix-shell expect entr")
"""Programs whose `-c` or `--command` is a script."""

CODE: Final[Mapping[str, str]] = {
    name: options
    for names, options in {
        "python pypy": "-c -mtimeit -mcode -mpdb",
        "perl raku": "-e -E -M -m -d",
        "ruby": "-e",
        "node nodejs deno bun tsx ts-node": "-e -p --eval --print -r --require --import eval repl -pe",
        "php": "-r -B -R -E --run",
        "lua luajit": "-e",
        "R Rscript": "-e",
        "julia": "-e -E --eval --print",
        "osascript elixir scala groovy swift ocaml ghc racket guile": "-e -c --eval",
        "erl": "-eval",
        "emacs emacsclient": "--eval -eval --execute -e -f --funcall -l",
        "octave": "--eval",
        "sbcl ecl": "--eval -e",
        "vim vi nvim view gvim ex rvim vimdiff": "-c --cmd -S -s -e -es -E",
        "gdb lldb": "-ex -eval-command --eval-command -iex -o -O --one-line -x --batch-command",
        "man": "-P --pager -H --html -p --preprocessor",
        "tar bsdtar gtar": "--to-command --checkpoint-action -I --use-compress-program -F --info-script --new-volume-script "
        "--rsh-command --rmt-command",
        "zip": "-TT --unzip-command",
        "rsync": "-e --rsh --rsync-path",
        "ssh scp sftp": "-o -S -F",
        "sort": "--compress-program",
        "rg": "--pre --hostname-bin",
        "make gmake": "--eval -E",
        "cmake": "-E -P",
        "nc ncat netcat": "-e -c --exec --sh-exec --lua-exec",
        "tcpdump": "-z",
        "npx npm": "-c --call --script-shell --node-options",
        "cargo": "--config",
        "go": "-exec -toolexec -vettool",
        "gcc g++ cc c++": "-wrapper",
        "mapfile readarray": "-C",
        "hash": "-p",
        "declare typeset local": "-n",
        "psql": "-c --command",
        "mysql mariadb": "-e --execute",
        "wget": "--use-askpass",
        "logrotate": "-s -f",
    }.items()
    for name in names.split()
}
"""Options by which a program runs a text in the command, or a program that it names."""

ALWAYS_CODE: Final = names(
    "ed red ex alias bind compgen complete enable fc crontab at batch sqlite3 m4 gnuplot dc expect socat osascript screen tmux parallel sem "
    "hyperfine concurrently watchexec nodemon entr pee nix-shell xterm uxterm rxvt urxvt konsole kitty alacritty foot gnome-terminal"
)
"""Programs and builtins that are given texts which they run, in whatever way they are called."""
STDIN_CODE: Final = names(
    "python pypy perl ruby node nodejs php lua luajit deno bun julia R tclsh wish ghci irb pry jshell guile racket sbcl psql mysql "
    "mariadb ftp lftp gdb lldb csi clojure"
)
"""Programs that run what they read, where no file is named."""

RUN_LATER: Final = names(
    "BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 SHELLOPTS BASHOPTS BASH_LOADABLES_PATH PAGER MANPAGER EDITOR VISUAL "
    "BROWSER FCEDIT LESSOPEN LESSCLOSE LESS LESSEDIT MORE GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND "
    "GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS "
    "GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR PERL5OPT PERL5DB RUBYOPT NODE_OPTIONS "
    "PYTHONSTARTUP PYTHONBREAKPOINT MAKEFLAGS GNUMAKEFLAGS MFLAGS RSYNC_RSH CVS_RSH TAR_OPTIONS ZIPOPT EXINIT VIMINIT "
    "RIPGREP_CONFIG_PATH RUSTC_WRAPPER JAVA_TOOL_OPTIONS LD_PRELOAD LD_AUDIT npm_config_script_shell npm_config_node_options "
    "BASH_ALIASES BASH_CMDS BASH_COMPAT"
)
"""Variables whose text a shell or another program runs, or that name what it runs."""
HARMLESS_VALUES: Final = names("cat true false : less 0 1")
"""Values of such variables that run nothing else."""

GIT_CONFIG_RUNS: Final = (
    r"alias\..*|core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy|alternaterefscommand|attributesfile)|"
    r"pager\..*|sequence\.editor|include\.path|includeif\..*|.*\.(?:textconv|command|clean|smudge|process|driver|cmd|program|"
    r"helper|path|external|proxy|uploadpack|receivepack|sshvariant|vcs|tool|guitool|packobjectshook|templatedir|sendmailcmd)"
)
"""Settings of git whose value is a program, or names a file of settings."""
