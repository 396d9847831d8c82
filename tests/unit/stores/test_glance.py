"""Which shell commands only look. One list decides what a coordinator may run and what expires."""

import pytest

from flower.stores.glance import is_ephemeral

LOOKS = r"""
git status
git status --short
ls -la
cat calc.py
pwd
git diff HEAD
git branch -a
wc -l x.txt
git status -s && echo "--- LOG ---" && git log --oneline -10
git ls-files | wc -l
ls -la 2>&1 | head -20
ps aux | grep python | head -5
git status > /dev/null
git branch -vv
cat f | awk '{print $1}'
jq '.name' p.json
git hash-object app.py
sed -n '1,20p' README.md
which g++
which g++ clang++ make pkg-config
command -v gcc
type ls
uname -a
arch
locale
nproc
sw_vers
whereis python
getconf LONG_BIT
which g++ clang++ make 2>&1; echo ---; ls /usr/include/curses.h 2>&1
"""

CHANGES = r"""
git commit -m x
git push
pytest -q
npm install
python train.py
rm -rf build
make
git status && rm -rf build/x
ls; git commit -am x
git status && curl evil.com
ls > out.txt
echo $(whoami)
cat urls | xargs curl
sed -i 's/a/b/' f.py
ls | tee saved.txt
ls &
find . -name '*.pyc' -delete
awk 'BEGIN{system("rm -rf build/x")}'
find . -name x -execdir rm {} +
git branch -D feature
git log --oneline && git reset --hard HEAD~5
git clean -fd
git push --force
cat f | sh
ls && ssh host rm -rf /
jq '.' f.json > out.json
git worktree list && git worktree remove wt
command rm -rf /
command sudo reboot
type -f x && rm y
which g++ > out.txt
uname -a; rm -rf /
which $(evil)
uname -a && curl evil.com
"""

MORE_LOOKS = r"""
grep -rn 'a|b && c; d > e' src
grep "it's \"quoted\"" f | sort -u | uniq -c
ls src/*.{py,txt}
ls $HOME ${HOME}
grep -n "name$" f
lsof -i :80
echo a\ b >&2
cat f 2>/dev/null || echo none
git -C sub --no-pager log -p -- file
git log --format='%h > %s' | head
git branch --list 'feat/*'
git branch --contains HEAD
git grep -n 'todo' -- src
git config --get user.name
git remote -v
git stash list
git worktree list
git tag -l 'v*'
find . -name '*.py' -newer x -print
date +%s
date -u
env
docker ps -a
kubectl get pods -o wide -n default
tail -n 20 log
sort -k2,2 -n f
awk -F: '$3 == 0 || $4 == 1 {print $1}' /etc/passwd
sed -e 's/foo/bar/g' -e '/^#/d' f
sed -nE '/start/,/end/p; $=' f
sed 's|a/b|c[0-9]*|' f
rg -n 'todo' src
tree -L 2
diff a b
"""

MORE_CHANGES = r"""
'rm' x
"l"s && r"m" x
ls # it's
FOO=1 ls
ls | bash
ls |& sh
(ls)
{ ls; }
! ls
ls; eval x
exec ls
source x
. x
`rm x`
cat <(rm x)
echo '$(rm x)'
echo $'\'; rm x'
ls > /dev/nullx
ls 2> err.txt
ls >| f
ls <> f
cat << END
ls 'unterminated
arch -x86_64 rm x
env rm x
date -s 2020-01-01
date 010100002020
uniq in out
uniq - out
uniq -c - out
uniq -- -in out
echo ${X:=\$\(rm x\)} ${X@P}
echo "${X:=\$\(rm x\)}" "${X@P}"
echo ${X:=a[\$\(rm x\)]} $[X]
lsof -Db/tmp/f
date -f %b Jan
sort -o f f
sort -uo f f
sort --out=f f
sort --compress-program=sh f
tree -o f
tree -R -L 1 -H .
rg --pre ./evil x
find . -fprint f
find . -ok rm {} ;
find . -exec rm {} ;
find . {-delete,}
find . $X
tail -f log
tail -5f log
tail --follow=name log
awk '{print > "f"}' x
awk '{print | "sh"}' x
awk '{"rm x" | getline}' x
awk -f prog.awk x
awk -i inplace '{print}' x
awk '@load "x"' f
awk '{f = "system"; @f("rm x")}' x
sed 's/a/rm x/e' f
sed '1e rm x' f
sed 'w out' f
sed 's/a/b/w out' f
sed -n '/[/]/w out' f
sed -f script f
sed --in-place=.bak 's/a/b/' f
sed --in-pl 's/a/b/' f
sed -ni p f
sed
git
git -c alias.status='!rm x' status
git -c core.pager=evil log
git --exec-path=/evil status
git diff --output=f
git diff --outp=f
git diff --ext-diff
git hash-object -w f
git grep -O todo
git grep -nOless todo
git grep --open-files-in-pager=sh todo
git grep --open todo
git --git-dir=/evil status
git --config-env=core.pager=EVIL log
git branch --list -D new
git branch --contains -d new
git branch new
git branch -m old new
git branch --delete x
git branch -f main HEAD~1
git config user.name x
git config --global alias.x '!rm'
git remote add x y
git stash
git stash pop
git worktree add x
git worktree prune
git tag v1
git reflog expire --all
git checkout .
git fetch
docker rm x
docker -H ssh://evil ps
kubectl delete pod x
kubectl get pods -w
kubectl get pods -Aw
kubectl get pods --watch-only
kubectl get pods --kubeconfig=evil
command ls
"""


def lines(text: str) -> list[str]:
    return [line for line in text.strip("\n").split("\n") if line]


@pytest.mark.parametrize("command", lines(LOOKS))
def test_a_command_that_only_looks_is_ephemeral(command: str) -> None:
    assert is_ephemeral(command)


@pytest.mark.parametrize("command", lines(CHANGES))
def test_a_command_that_can_change_something_is_not_ephemeral(command: str) -> None:
    assert not is_ephemeral(command)


@pytest.mark.parametrize("command", lines(MORE_LOOKS))
def test_a_closer_look_finds_that_a_command_only_looks(command: str) -> None:
    assert is_ephemeral(command)


@pytest.mark.parametrize("command", lines(MORE_CHANGES))
def test_a_closer_look_finds_what_a_command_can_change(command: str) -> None:
    assert not is_ephemeral(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", False),
        (" \n\t", False),
        ("ls \\\n  -la", True),
        ("ls\npwd", True),
        ("ls\nrm x", False),
        ("ls # it's\nrm x #'", False),
        ("ls\r\nrm x", False),
        ("ls |\nrm x", False),
        ("find . -del\\\nete", False),
        ("git log --out\\\nput=f", False),
        ('echo "$\\\n(rm x)"', False),
        ("echo $\\\n{X@P}", False),
        ("ls \\", False),
        ('echo "a\\"; rm x"', True),
        ('echo "a\\\\"; rm x', False),
        ("sed 's/a/b/\nw out' f", False),
        ("sed -n '1p\n2p' f", True),
    ],
)
def test_line_ends_and_escapes_are_read_like_a_shell_reads_them(command: str, expected: bool) -> None:
    assert is_ephemeral(command) is expected


def test_a_very_long_command_is_no_trouble() -> None:
    assert is_ephemeral("cat " + "file-name " * 50_000)
    assert not is_ephemeral("sed '" + "s/a/b/;" * 20_000 + "w out' f")
